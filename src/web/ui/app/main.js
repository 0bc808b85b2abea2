// Starts all scripts. The page also works without them.

import * as composer from "./composer.js";
import * as labels from "./labels.js";
import * as lightbox from "./lightbox.js";
import * as live from "./live.js";
import * as log from "./log.js";
import * as reply from "./reply.js";
import * as sidebar from "./sidebar.js";
import * as times from "./times.js";
import * as tokens from "./tokens.js";

log.start();
times.start();
sidebar.start();
reply.start();
composer.start();
lightbox.start();
labels.start();
tokens.start();
live.start();
