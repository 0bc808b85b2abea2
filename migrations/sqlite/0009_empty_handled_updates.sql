-- Updates that are handled keep their key and lose their content.
UPDATE inbox SET raw = '' WHERE state = 'done';
