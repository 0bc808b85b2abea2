"""The edits of the benchmark as other libraries do them, one thread each.

Reads lines "peer row small|large" and answers each with the processor time of one such edit in milliseconds, or with
"missing" and why. "versions" tells what is installed, and "peak peer row size" does one edit in a process of its own
and tells its peak memory in megabytes. A peer that is not installed is missing, and nothing is made up for it.
"""
import io, os, resource, subprocess, sys, time

os.environ.update(VIPS_CONCURRENCY="1", OMP_NUM_THREADS="1", MAGICK_THREAD_LIMIT="1")
FOLDER = sys.argv[1]
PHOTOS = {size: open(f"{FOLDER}/{size}.jpg", "rb").read() for size in ("small", "large")}
SIZES = {"small": (1280, 960, 640), "large": (4000, 3000, 1280)}
QUALITY = 85
COLLAGE, CELL = (2048, 1536), (1024, 768)
BLUR, SIGMA = (600, 400), 12


def box(size):
    """The middle half of the picture, left, top, width, height."""
    width, height, _ = SIZES[size]
    return width // 4, height // 4, width // 2, height // 2


def blurred(size):
    width, height, _ = SIZES[size]
    return (width - BLUR[0]) // 2, (height - BLUR[1]) // 2, *BLUR


class Pillow:
    def __init__(self):
        import PIL
        from PIL import Image, ImageDraw, ImageFilter

        self.Image, self.ImageDraw, self.ImageFilter = Image, ImageDraw, ImageFilter
        self.version = PIL.__version__

    def run(self, row, size):
        Image = self.Image
        open_it = lambda: Image.open(io.BytesIO(PHOTOS[size])).convert("RGB")
        width, height, longest = SIZES[size]
        left, top, w, h = box(size)
        if row == "collage":
            picture = Image.new("RGB", COLLAGE)
            for index in range(4):
                cell = open_it().resize(CELL, Image.Resampling.LANCZOS)
                picture.paste(cell, (index % 2 * CELL[0], index // 2 * CELL[1]))
        else:
            picture = open_it()
        if row == "highlight":
            self.ImageDraw.Draw(picture).rectangle([left, top, left + w, top + h], outline="red", width=height // 140)
        elif row == "blur":
            x, y, w, h = blurred(size)
            part = picture.crop((x, y, x + w, y + h)).filter(self.ImageFilter.GaussianBlur(SIGMA))
            picture.paste(part, (x, y))
        elif row == "crop":
            picture = picture.crop((left, top, left + w, top + h))
        elif row == "rotate":
            picture = picture.transpose(Image.Transpose.ROTATE_270)
        elif row == "resize":
            picture = picture.resize((longest, longest * height // width), Image.Resampling.LANCZOS)
        picture.save(io.BytesIO(), "JPEG", quality=QUALITY)


class Vips:
    def __init__(self):
        import pyvips

        self.vips = pyvips
        pyvips.cache_set_max(0)
        self.version = ".".join(str(pyvips.version(part)) for part in range(3))

    def run(self, row, size):
        Image = self.vips.Image
        sequential = row in ("crop", "resize", "collage")
        open_it = lambda: Image.new_from_buffer(PHOTOS[size], "", access="sequential" if sequential else "random")
        width, height, longest = SIZES[size]
        left, top, w, h = box(size)
        if row == "collage":
            cells = [self.vips.Image.thumbnail_buffer(PHOTOS[size], CELL[0]) for _ in range(4)]
            picture = Image.arrayjoin(cells, across=2)
        elif row == "resize":
            picture = Image.thumbnail_buffer(PHOTOS[size], longest)
        else:
            picture = open_it()
        if row == "highlight":
            picture = self.outlined(picture, left, top, w, h, height // 140)
        elif row == "blur":
            x, y, w, h = blurred(size)
            picture = picture.insert(picture.crop(x, y, w, h).gaussblur(SIGMA), x, y)
        elif row == "crop":
            picture = picture.crop(left, top, w, h)
        elif row == "rotate":
            picture = picture.rot90()
        picture.write_to_buffer(".jpg", Q=QUALITY)

    def outlined(self, picture, left, top, width, height, line):
        for bar in (
            (left, top, width, line),
            (left, top + height - line, width, line),
            (left, top, line, height),
            (left + width - line, top, line, height),
        ):
            picture = picture.draw_rect([255, 0, 0], *bar, fill=True)
        return picture


class OpenCv:
    def __init__(self):
        import cv2, numpy

        self.cv, self.numpy = cv2, numpy
        cv2.setNumThreads(1)
        self.version = cv2.__version__

    def run(self, row, size):
        cv, numpy = self.cv, self.numpy
        open_it = lambda: cv.imdecode(numpy.frombuffer(PHOTOS[size], numpy.uint8), cv.IMREAD_COLOR)
        width, height, longest = SIZES[size]
        left, top, w, h = box(size)
        if row == "collage":
            cells = [cv.resize(open_it(), CELL, interpolation=cv.INTER_AREA) for _ in range(4)]
            picture = numpy.vstack([numpy.hstack(cells[:2]), numpy.hstack(cells[2:])])
        else:
            picture = open_it()
        if row == "highlight":
            cv.rectangle(picture, (left, top), (left + w, top + h), (0, 0, 255), height // 140)
        elif row == "blur":
            x, y, w, h = blurred(size)
            picture[y : y + h, x : x + w] = cv.GaussianBlur(picture[y : y + h, x : x + w], (0, 0), SIGMA)
        elif row == "crop":
            picture = picture[top : top + h, left : left + w]
        elif row == "rotate":
            picture = cv.rotate(picture, cv.ROTATE_90_CLOCKWISE)
        elif row == "resize":
            picture = cv.resize(picture, (longest, longest * height // width), interpolation=cv.INTER_AREA)
        cv.imencode(".jpg", picture, [cv.IMWRITE_JPEG_QUALITY, QUALITY])


class Magick:
    """Has no library to load here: its program is run, and starting it is part of its time."""

    def __init__(self):
        for self.program in ("/usr/bin/magick", "/usr/bin/convert", "magick", "convert"):
            try:
                told = subprocess.run([self.program, "-version"], capture_output=True, text=True).stdout
            except OSError:
                continue
            if "ImageMagick" in told:
                self.version = told.split()[2]
                return
        raise ImportError("no magick or convert")

    def run(self, row, size):
        width, height, longest = SIZES[size]
        left, top, w, h = box(size)
        x, y, bw, bh = blurred(size)
        photo = f"{FOLDER}/{size}.jpg"
        edit = {
            "highlight": ["-fill", "none", "-stroke", "red", "-strokewidth", str(height // 140),
                          "-draw", f"rectangle {left},{top} {left + w},{top + h}"],
            "blur": ["(", "+clone", "-crop", f"{bw}x{bh}+{x}+{y}", "+repage", "-blur", f"0x{SIGMA}", ")",
                     "-geometry", f"+{x}+{y}", "-composite"],
            "crop": ["-crop", f"{w}x{h}+{left}+{top}", "+repage"],
            "rotate": ["-rotate", "90"],
            "resize": ["-resize", f"{longest}x"],
        }
        if row == "collage":
            cell = [photo, "-resize", f"{CELL[0]}x{CELL[1]}!"]
            pair = ["(", "("] + cell + [")", "("] + cell + [")", "+append", ")"]
            arguments = pair + pair + ["-append"]
        else:
            arguments = [photo] + edit[row]
        command = [self.program] + arguments + ["-quality", str(QUALITY), f"{FOLDER}/made.jpg"]
        subprocess.run(command, check=True, capture_output=True)


class Turbo:
    """libjpeg-turbo itself: the decoding and encoding that an edit cannot do without, and nothing else."""

    def __init__(self):
        import numpy
        from turbojpeg import TJSAMP_420, TurboJPEG

        self.subsampled = TJSAMP_420
        self.numpy, self.turbo = numpy, TurboJPEG()
        self.version = "by way of PyTurboJPEG"

    def run(self, row, size):
        width, height, longest = SIZES[size]
        for _ in range(4 if row == "collage" else 1):
            picture = self.turbo.decode(PHOTOS[size])
        if row == "crop":
            picture = picture[: height // 2, : width // 2]
        elif row == "resize":
            picture = picture[: longest * height // width, :longest]
        elif row == "collage" and size == "large":
            picture = picture[: COLLAGE[1], : COLLAGE[0]]
        elif row == "collage":
            picture = self.numpy.vstack([self.numpy.hstack([picture] * 2)] * 2)[: COLLAGE[1], : COLLAGE[0]]
        self.turbo.encode(self.numpy.ascontiguousarray(picture), quality=QUALITY, jpeg_subsample=self.subsampled)


KINDS = {"pillow": Pillow, "libvips": Vips, "opencv": OpenCv, "imagemagick": Magick, "libjpeg-turbo": Turbo}


def spent():
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1000 * sum(use.ru_utime + use.ru_stime for use in of)


def main():
    peers, trouble = {}, {}
    only = sys.argv[2:3]
    for name, kind in KINDS.items():
        if only and name != only[0]:
            continue
        try:
            peers[name] = kind()
        except Exception as error:
            trouble[name] = str(error).splitlines()[0] if str(error) else type(error).__name__
    if only:
        peers[only[0]].run(sys.argv[3], sys.argv[4])
        print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
        return
    for line in sys.stdin:
        words = line.split()
        if words == ["versions"]:
            print(", ".join(f"{name} {peer.version}" for name, peer in peers.items()), flush=True)
        elif words[0] == "peak":
            if words[1] not in peers:
                print(f"missing {trouble[words[1]]}", flush=True)
                continue
            child = [sys.executable, __file__, FOLDER, *words[1:]]
            kilobytes = subprocess.run(child, capture_output=True, text=True).stdout.strip()
            print(float(kilobytes) * 1024 / 1e6, flush=True)
        elif words[0] not in peers:
            print(f"missing {trouble.get(words[0], 'unknown')}", flush=True)
        else:
            since = spent()
            try:
                peers[words[0]].run(words[1], words[2])
                print(spent() - since, flush=True)
            except Exception as error:
                print(f"missing {type(error).__name__}: {error}".splitlines()[0], flush=True)


main()
