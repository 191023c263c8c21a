"""Run PostgreSQL, Kafka and Debezium on this machine, to try the pipelines of docs/spark-pipelines.md.

    python examples/spark/pipelines/servers.py        # prints the addresses; Ctrl-C ends everything

PostgreSQL is the one of the system (Debian: postgresql). Kafka and Kafka Connect with Debezium are fetched
from Maven Central by `mvn` the first time, 60 MB, and need Java 17. All of them listen on 127.0.0.1 only, and
what they hold goes with the program.
"""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KAFKA = "4.1.1"
DEBEZIUM = "3.6.1.Final"
ARTIFACTS = [
    f"org.apache.kafka:kafka_2.13:{KAFKA}",
    f"org.apache.kafka:connect-runtime:{KAFKA}",
    f"org.apache.kafka:connect-json:{KAFKA}",
    f"io.debezium:debezium-connector-postgres:{DEBEZIUM}",
    "org.slf4j:slf4j-simple:1.7.36",
]
PATIENCE = 120
HOST = "127.0.0.1"


class Servers:
    """The running servers and their addresses."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.jars = fetch()
        self.postgresql, self.kafka, self.control, self.connect = free_ports(4)
        self.bootstrap = f"{HOST}:{self.kafka}"
        self._running = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._running = stack
            self._start_postgresql()
            self._start_kafka()
            self._start_connect()
            self._running = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._running.close()

    def psql(self, script):
        """Run SQL as the owner of the database, and return its output, a line per row."""
        command = [postgresql() / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", *self._database()]
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def follow(self, *tables, **settings):
        """Let Debezium write the changes of tables to the topics `ops.<schema>.<table>`."""
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": HOST,
            "database.port": self.postgresql,
            "database.user": "ops",
            "database.password": "",
            "database.dbname": "postgres",
            "topic.prefix": "ops",
            "table.include.list": ",".join(tables),
            "publication.autocreate.mode": "filtered",
            # by default Debezium skips TRUNCATE, and readers would miss these removals
            "skipped.operations": "none",
            # so that the slot advances while only other tables change
            "heartbeat.interval.ms": 1000,
        } | {name.replace("_", "."): value for name, value in settings.items()}
        body = json.dumps({"name": "ops", "config": config}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{HOST}:{self.connect}/connectors", body, headers)
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def _database(self):
        return ["-h", HOST, "-p", str(self.postgresql), "-U", "ops", "-d", "postgres"]

    def _start_postgresql(self):
        base, owner = self.folder / "postgresql", {}
        base.mkdir()
        if os.geteuid() == 0:  # PostgreSQL refuses root; 65534 is the unprivileged user of Linux
            user = next(each for each in pwd.getpwall() if each.pw_name == "postgres" or each.pw_uid == 65534)
            os.chown(base, user.pw_uid, user.pw_gid)
            os.chmod(self.folder, 0o755)
            owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        options = ["-U", "ops", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        initdb = [postgresql() / "initdb", "-D", base / "data", *options]
        subprocess.run(initdb, check=True, capture_output=True, cwd=base, **owner)
        settings = {
            "port": self.postgresql,
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "wal_level": "logical",
            "timezone": "UTC",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [postgresql() / "postgres", "-D", base / "data", *options]
        self._run("postgresql", command, signal.SIGQUIT, cwd=base, **owner)
        ready = [postgresql() / "psql", *self._database(), "-c", "SELECT 1"]
        self._wait("postgresql", lambda: subprocess.run(ready, capture_output=True).returncode == 0)

    def _start_kafka(self):
        settings = self.folder / "server.properties"
        settings.write_text(f"""\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{HOST}:{self.kafka},CONTROLLER://{HOST}:{self.control}
controller.quorum.voters=1@{HOST}:{self.control}
controller.listener.names=CONTROLLER
log.dirs={self.folder / "kafka"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
""")
        cluster = "cmRmbGl2ZS1leGFtcGxlcw"
        formatting = self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", settings)
        subprocess.run(formatting, check=True, capture_output=True)
        self._run("kafka", self._java("kafka.Kafka", settings))
        self._wait("kafka", lambda: answers(self.kafka))

    def _start_connect(self):
        settings = self.folder / "connect.properties"
        settings.write_text(f"""\
bootstrap.servers={self.bootstrap}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename={self.folder / "connect.offsets"}
offset.flush.interval.ms=500
listeners=http://{HOST}:{self.connect}
""")
        self._run("connect", self._java("org.apache.kafka.connect.cli.ConnectStandalone", settings))
        self._wait("connect", lambda: answers(self.connect) and self._lists_connectors())

    def _lists_connectors(self):
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://{HOST}:{self.connect}/connectors", timeout=PATIENCE).close()
            return True
        return False

    def _java(self, *arguments):
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        return ["java", *options, "-cp", f"{self.jars}/*", *map(str, arguments)]

    def _run(self, name, command, ending=signal.SIGTERM, **options):
        log = self._running.enter_context((self.folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=log, **options)

        def end():
            process.send_signal(ending)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()

        self._running.callback(end)
        setattr(self, f"_{name}", process)

    def _wait(self, name, is_ready):
        deadline = time.monotonic() + PATIENCE
        while not is_ready():
            if getattr(self, f"_{name}").poll() is not None or time.monotonic() > deadline:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                raise RuntimeError(f"{name} did not start: {log[-2000:]}")
            time.sleep(0.1)


def fetch():
    """Copy the artifacts with Maven into a folder of the user's cache, and return the folder."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "rdflive" / f"kafka-{KAFKA}-debezium-{DEBEZIUM}"
    if folder.is_dir():
        return folder
    entries = []
    for artifact in ARTIFACTS:
        group, name, version = artifact.split(":")
        entries.append(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version></dependency>"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        pathlib.Path(work, "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>example</groupId><artifactId>servers</artifactId><version>1</version>"
            f"<dependencies>{''.join(entries)}</dependencies></project>"
        )
        options = ["-DincludeScope=runtime", "-DoutputDirectory=jars"]
        subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", *options], cwd=work, check=True)
        folder.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # another program was first
            os.rename(pathlib.Path(work, "jars"), folder)
    return folder


def postgresql():
    """Find the folder with the programs of PostgreSQL."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    on_path = shutil.which("postgres")
    if not found and on_path is None:
        raise RuntimeError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return found[-1].parent if found else pathlib.Path(on_path).resolve().parent


def free_ports(count):
    """Find free ports."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in found]


def answers(port):
    """Return True if a server listens at the port."""
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="rdflive-") as place, Servers(place) as servers:
        print(f"PostgreSQL  psql -h {HOST} -p {servers.postgresql} -U ops postgres")
        print(f"Kafka       {servers.bootstrap}")
        print(f"Connect     http://{HOST}:{servers.connect}/connectors", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
