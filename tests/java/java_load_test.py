"""java_load_test.py JAVAC LIBHOLDFAST_JNI.SO: a JVM loads the library as it was built here, puts a record and reads it.
All else of the bindings is tested by `./run check java`, which wants Maven and its packages."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
javac, library = pathlib.Path(sys.argv[1]), sys.argv[2]
with tempfile.TemporaryDirectory(prefix='holdfast-java-') as scratch:
    classes = pathlib.Path(scratch) / 'classes'
    native = classes / 'org/holdfast/native/linux-x86_64'
    native.mkdir(parents=True)
    shutil.copy(library, native / 'libholdfast_jni.so')
    sources = [str(path) for path in (ROOT / 'java/holdfast/src/main/java').rglob('*.java')]
    subprocess.run([javac, '-d', classes, *sources, ROOT / 'tests/java/PutAndGet.java'], check=True)
    done = subprocess.run([javac.with_name('java'), '-cp', classes, 'PutAndGet', f'{scratch}/store'],
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, '1815\n'), (done.returncode, done.stdout, done.stderr)
