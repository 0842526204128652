"""What every process of another engine does: `serve` at the end of the script that stands behind this one. Embedded
into the command, which starts both as: python -c THIS+SCRIPT NAME WORD…

Standard input has a question per line. Each gets one line of JSON: {"seconds", "rows"} or {"error"}; before the
first, {"version", "configuration"}, or {"missing": package}. Rows are lists of texts.
"""
import sys

sys.path[:] = [path for path in sys.path if path]  # No modules of the current directory.
import importlib
import json
import os


def serve(kind, packages, answer):
    """`kind`: the engine's class; `kind.package` is given to it, `packages` must be there, too. `answer(engine, line)`
    gives (seconds, rows)."""
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)  # What libraries print is no answer.

    def say(**message):
        answers.write(json.dumps(message) + '\n')
        answers.flush()

    for package in [*packages, kind.package]:
        try:
            library = importlib.import_module(package)
        except ImportError as error:
            return say(missing=package, python=sys.executable, error=str(error))
    try:
        engine = kind(library)
        say(version=str(getattr(library, '__version__', '?')), configuration=engine.configuration)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # Whatever a library throws is the answer; panics are no Exception.
        return say(error=f'loading: {error!r}')
    for line in sys.stdin:
        try:
            seconds, rows = answer(engine, line.strip())
            say(seconds=seconds, rows=[['' if value is None else str(value) for value in row] for row in rows])
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            say(error=str(error) or repr(error))


