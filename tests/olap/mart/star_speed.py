"""How fast random star queries are beside DuckDB: star_speed.py HOLDFAST [--sf F] [--queries N] [--threads T].

By hand, on an idle machine, with a Python that has duckdb. Both have the same tables, hot: DuckDB in a database file.
Each query is asked of both in turn, five times each after one that is not timed; answers must be equal.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

import duckdb

import star_grammar
import star_peer

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('holdfast')
    parser.add_argument('--sf', default='1')
    parser.add_argument('--queries', type=int, default=40)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--keep', help='a directory for the tables, used again if they are there')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='star-speed-') as scratch:
        place = pathlib.Path(options.keep or scratch)
        place.mkdir(exist_ok=True)
        region = str(place / 'star')
        base = duckdb.connect(str(place / 'duck.db'), config={'threads': options.threads})
        if not pathlib.Path(region).exists():
            subprocess.run([options.holdfast, 'ssb', 'generate', '--sf', options.sf, '--tbl', str(place)], check=True)
            subprocess.run([options.holdfast, 'olap', 'load', '--schema', str(HERE.parents[2] / 'examples/star/ssb.yaml'),
                            '--data', str(place), '--region', region], check=True)
            for table in star_peer.SSB_TYPES:
                star_peer.ssb_table(base, table, place / f'{table}.tbl')
            base.execute('checkpoint')
        ratios = []
        for seed in range(options.queries):
            sql = star_grammar.Grammar(star_grammar.SSB, 10_000 + seed).query()
            star_peer.ask_duckdb(base, sql)
            ours, our_time = star_peer.ask_holdfast(options.holdfast, region, sql, options.threads, 5)
            theirs, their_time = star_peer.ask_duckdb(base, sql, 5)
            wrong = star_peer.difference(ours, theirs, 'ORDER BY' in sql)
            if wrong:
                sys.exit(f'{sql}\n{wrong}')
            ratios.append(their_time / our_time)
            print(f'{our_time * 1e3:9.2f} ms {their_time * 1e3:9.2f} ms {ratios[-1]:6.1f}  {sql[:120]}', flush=True)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f'{len(ratios)} queries, {options.threads} threads, DuckDB {duckdb.__version__}: geometric mean {mean:.2f}, '
              f'least {min(ratios):.2f}')


main()
