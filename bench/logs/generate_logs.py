#!/usr/bin/env python3
"""Generates logs of five kinds with planted anomalies, for bench/logs/compare.py.

Each kind is a set of interleaved sessions (requests, jobs, pods, logins, threads) whose steps follow an order, with
identifiers, categories and numbers as in production. `generate(kind, lines, seed)` returns normal lines;
`plant(kind, lines, seed, anomaly)` returns lines and flags. The anomalies are
  template  a message that training did not contain
  value     a known message with a value that never occurs at its position: a new category or a number far outside the range
  order     a known message at a step of a session at which it never occurs
"""
import argparse
import random

KINDS = ("json", "keyvalue", "kubernetes", "syslog", "java")
ANOMALIES = ("template", "value", "order")
USERS = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "karl", "laura"]


def clock(t, style):
    day, rest = divmod(t, 86400)
    h, m, s = int(rest // 3600), int(rest % 3600 // 60), rest % 60
    if style == "iso":
        return f"2026-03-{1 + int(day):02d}T{h:02d}:{m:02d}:{s:06.3f}Z"
    if style == "klog":
        return f"03{1 + int(day):02d} {h:02d}:{m:02d}:{s:09.6f}"
    if style == "syslog":
        return f"Mar {1 + int(day):2d} {h:02d}:{m:02d}:{int(s):02d}"
    return f"2026-03-{1 + int(day):02d} {h:02d}:{m:02d}:{s:06.3f}".replace(".", ",")


class Json:
    """One JSON object per line; sessions are requests."""
    steps = {"start": {"received": 1}, "received": {"authenticated": 9, "rejected": 1},
             "authenticated": {"cache_hit": 5, "db_query": 5}, "cache_hit": {"responded": 1},
             "db_query": {"db_query": 2, "responded": 8}, "rejected": {"responded": 1}, "responded": {}}
    unseen = ["circuit_opened", "quota_exceeded", "schema_mismatch", "token_revoked", "retry_exhausted"]

    def session(self, r):
        return {"request": f"{r.getrandbits(32):08x}-{r.getrandbits(16):04x}-{r.getrandbits(16):04x}-"
                           f"{r.getrandbits(16):04x}-{r.getrandbits(48):012x}",
                "user": r.choice(USERS), "region": r.choice(["eu-1", "eu-2", "us-1"])}

    def line(self, r, t, step, s, odd=None):
        f = {"ts": clock(t, "iso"), "level": "warn" if step == "rejected" else "info", "service": "checkout",
             "event": step, "request_id": s["request"], "user": s["user"], "region": s["region"]}
        if step == "db_query":
            f["table"], f["rows"] = r.choice(["orders", "items", "customers"]), r.randint(1, 60)
        if step == "responded":
            f["status"], f["duration_ms"] = r.choices([200, 201, 304, 404], [80, 10, 6, 4])[0], r.randint(5, 90)
        if odd == "value":
            which = r.choice(["region", "user", "level"] + (["status", "duration_ms"] if step == "responded" else []))
            f[which] = {"region": "ap-9", "user": "mallory", "level": "fatal", "status": 599, "duration_ms": 48211}[which]
        return "{" + ",".join(f'"{k}":' + (str(v) if isinstance(v, int) else f'"{v}"') for k, v in f.items()) + "}"


class KeyValue:
    """logfmt; sessions are jobs."""
    steps = {"start": {"job queued": 1}, "job queued": {"job started": 1}, "job started": {"payload fetched": 1},
             "payload fetched": {"payload fetched": 2, "job finished": 8, "job retried": 1},
             "job retried": {"job started": 1}, "job finished": {}}
    unseen = ["lease lost to peer", "checksum mismatch in chunk", "queue frozen by operator", "disk quota reached"]

    def session(self, r):
        return {"job": f"job-{r.randint(1000, 999999)}", "queue": r.choice(["mail", "thumbs", "billing", "index"]),
                "worker": f"w{r.randint(1, 6)}"}

    def line(self, r, t, step, s, odd=None):
        f = {"time": clock(t, "iso"), "level": "warning" if step == "job retried" else "info", "msg": f'"{step}"',
             "job": s["job"], "queue": s["queue"], "worker": s["worker"]}
        if step == "payload fetched":
            f["bytes"] = r.randint(2000, 90000)
        if step == "job finished":
            f["took"], f["code"] = f"{r.randint(10, 900)}ms", r.choices([0, 0, 0, 3], k=1)[0]
        if odd == "value":
            which = r.choice(["queue", "worker"] + [k for k in ("bytes", "code") if k in f])
            f[which] = {"queue": "shadow", "worker": "w77", "bytes": 9876543210, "code": 137}[which]
        return " ".join(f"{k}={v}" for k, v in f.items())


class Kubernetes:
    """klog lines of a cluster; sessions are pods."""
    steps = {"start": {"scheduled": 1}, "scheduled": {"pulling": 7, "pulled": 3}, "pulling": {"pulled": 1},
             "pulled": {"created": 1}, "created": {"started": 1}, "started": {"probe": 8, "killing": 2},
             "probe": {"probe": 3, "killing": 4}, "killing": {}}
    text = {"scheduled": '"Successfully bound pod to node" pod="{pod}" node="{node}"',
            "pulling": '"Pulling image" pod="{pod}" image="registry.local/{image}:{tag}"',
            "pulled": '"Image present on machine" pod="{pod}" image="registry.local/{image}:{tag}"',
            "created": '"Created container" pod="{pod}" container="{image}" containerID="{cid}"',
            "started": '"Started container" pod="{pod}" container="{image}" took="{ms}ms"',
            "probe": '"Probe succeeded" pod="{pod}" probe="{probe}" latency="{ms}ms"',
            "killing": '"Killing container with grace period" pod="{pod}" container="{image}" gracePeriod={grace}'}
    unseen = ['"Evicting pod due to memory pressure" pod="{pod}"', '"Failed to mount volume" pod="{pod}" volume="data"',
              '"Back-off restarting failed container" pod="{pod}"', '"Certificate expired" node="{node}"']
    file = {"scheduled": "scheduler.go:412", "probe": "prober.go:107"}

    def session(self, r):
        image = r.choice(["ingest", "api", "frontend", "billing", "search"])
        ns = {"ingest": "data", "search": "data"}.get(image, "default")
        return {"pod": f"{ns}/{image}-{r.getrandbits(36):09x}-" + "".join(r.choices("bcdfghjklmnpqrstvwxz2456789", k=5)),
                "image": image, "tag": f"v1.{r.randint(0, 9)}.{r.randint(0, 20)}", "node": f"node-{r.randint(1, 5)}",
                "cid": f"{r.getrandbits(128):032x}"}

    def line(self, r, t, step, s, odd=None):
        v = dict(s, ms=r.randint(3, 250), probe=r.choice(["liveness", "readiness"]), grace=30)
        if odd == "value":
            which = {"scheduled": "node", "probe": "probe", "killing": "grace", "created": "image", "started": "image"}
            v.update({which.get(step, "image"): {"node": "node-66", "probe": "backdoor", "grace": 0}.get(
                which.get(step, "image"), "miner")})
        text = step if step.startswith('"') else self.text[step]
        level = "W" if step.startswith('"') else "I"
        return f"{level}{clock(t, 'klog')}       1 {self.file.get(step, 'kubelet.go:2103')}] " + text.format(**v)


class Syslog:
    """Syslog of two hosts; sessions are processes of sshd and cron."""
    steps = {"start": {"connection": 7, "cron_open": 3}, "connection": {"accepted": 8, "failed": 2},
             "failed": {"failed": 3, "accepted": 5, "closed_preauth": 2}, "accepted": {"opened": 1},
             "opened": {"closed": 1}, "closed": {}, "closed_preauth": {}, "cron_open": {"cron_cmd": 1},
             "cron_cmd": {"cron_close": 1}, "cron_close": {}}
    text = {"connection": "sshd[{pid}]: Connection from {ip} port {port}",
            "accepted": "sshd[{pid}]: Accepted {how} for {user} from {ip} port {port} ssh2",
            "failed": "sshd[{pid}]: Failed password for {user} from {ip} port {port} ssh2",
            "opened": "sshd[{pid}]: pam_unix(sshd:session): session opened for user {user} by (uid=0)",
            "closed": "sshd[{pid}]: pam_unix(sshd:session): session closed for user {user}",
            "closed_preauth": "sshd[{pid}]: Connection closed by {ip} port {port} [preauth]",
            "cron_open": "CRON[{pid}]: pam_unix(cron:session): session opened for user {cronuser} by (uid=0)",
            "cron_cmd": "CRON[{pid}]: ({cronuser}) CMD ({job})",
            "cron_close": "CRON[{pid}]: pam_unix(cron:session): session closed for user {cronuser}"}
    unseen = ["sshd[{pid}]: fatal: Write failed: Broken pipe", "sshd[{pid}]: error: kex protocol mismatch",
              "kernel: Out of memory: Killed process {pid} (mysqld)", "su[{pid}]: FAILED SU (to root) {user} on pts/3"]

    def session(self, r):
        return {"pid": r.randint(1000, 65000), "user": r.choice(USERS), "port": r.randint(1024, 65000),
                "ip": f"10.{r.randint(0, 9)}.{r.randint(0, 255)}.{r.randint(1, 254)}", "host": r.choice(["web1", "web2"]),
                "cronuser": r.choice(["root", "www-data"]), "how": r.choice(["publickey", "password"]),
                "job": r.choice(["/usr/lib/sysstat/sa1 1 1", "run-parts /etc/cron.hourly", "/opt/backup.sh daily"])}

    def line(self, r, t, step, s, odd=None):
        v = dict(s)
        if odd == "value":
            options = {"accepted": [("how", "hostbased"), ("user", "mallory")], "cron_cmd": [("job", "/tmp/.x/miner -q")],
                       "cron_open": [("cronuser", "nobody7")], "cron_close": [("cronuser", "nobody7")]}
            which = r.choice(options.get(step, [("user", "mallory")] if "{user}" in self.text[step] else [("host", "db9")]))
            v[which[0]] = which[1]
        text = step if "[{pid}]" in step or ":" in step else self.text[step]
        return f"{clock(t, 'syslog')} {v['host']} " + text.format(**v)


class Java:
    """log4j lines; sessions are tasks of the threads of a pool."""
    steps = {"start": {"dispatch": 1}, "dispatch": {"load": 1}, "load": {"validate": 8, "warn_slow": 1},
             "warn_slow": {"validate": 1}, "validate": {"save": 9, "invalid": 1}, "invalid": {"reply": 1},
             "save": {"reply": 1}, "reply": {}}
    text = {"dispatch": "INFO  [{thread}] c.acme.web.Dispatcher - Dispatching {verb} /orders/{order} for session {sid}",
            "load": "DEBUG [{thread}] c.acme.db.OrderRepository - Loaded order {order} in {ms} ms",
            "warn_slow": "WARN  [{thread}] c.acme.db.OrderRepository - Slow query took {slow} ms on {db}",
            "validate": "INFO  [{thread}] c.acme.core.Validator - Order {order} passed {rules} rules ({profile})",
            "invalid": "WARN  [{thread}] c.acme.core.Validator - Order {order} violates rule {rule}",
            "save": "INFO  [{thread}] c.acme.db.OrderRepository - Saved order {order}, version {version}, on {db}",
            "reply": "INFO  [{thread}] c.acme.web.Dispatcher - Replied {status} to session {sid} after {ms} ms"}
    unseen = ["ERROR [{thread}] c.acme.db.Pool - Connection pool exhausted, {ms} waiting",
              "ERROR [{thread}] c.acme.core.Validator - Unexpected null in field customer of order {order}",
              "WARN  [{thread}] c.acme.web.Security - Signature check skipped for session {sid}",
              "ERROR [{thread}] c.acme.mq.Consumer - Broker unreachable"]
    threads = 8

    def session(self, r):
        return {"thread": None, "order": r.randint(10000, 9999999), "sid": f"{r.getrandbits(40):010X}",
                "db": r.choice(["primary", "replica1", "replica2"]), "verb": r.choice(["GET", "PUT", "POST"])}

    def line(self, r, t, step, s, odd=None):
        v = dict(s, ms=r.randint(1, 120), slow=r.randint(1000, 4000), rules=r.choice([12, 14, 18]),
                 profile=r.choice(["standard", "express", "gift"]), rule=r.choice(["R17", "R23", "R31"]),
                 version=r.randint(1, 9), status=r.choices([200, 204, 409], [8, 1, 1])[0])
        if odd == "value":
            options = {"dispatch": [("verb", "TRACE")], "validate": [("profile", "internal"), ("rules", 3)],
                       "save": [("db", "shadow")], "reply": [("status", 503), ("ms", 86400)], "load": [("ms", 86400)],
                       "invalid": [("rule", "R99")], "warn_slow": [("db", "shadow")]}
            name, value = r.choice(options[step])
            v[name] = value
        text = step if step not in self.text else self.text[step]
        return f"{clock(t, 'java')} " + text.format(**v)


WORLDS = {"json": Json, "keyvalue": KeyValue, "kubernetes": Kubernetes, "syslog": Syslog, "java": Java}


def lines_of(kind, count, seed, anomaly=None, share=0.01, start=0.0):
    """Yields (line, is_anomalous)."""
    r, world = random.Random(f"{kind} {seed} {anomaly}"), WORLDS[kind]()
    free = [f"http-nio-8080-exec-{i}" for i in range(1, 1 + getattr(world, "threads", 0))]
    active, t, made = [], start, 0
    all_steps = [s for s in world.steps if s != "start"]
    while made < count:
        t += r.expovariate(2.0)
        if len(active) < 6 and (r.random() < 0.4 or not active):
            session = world.session(r)
            if "thread" in session:
                session["thread"] = free.pop(r.randrange(len(free)))
            active.append(["start", session])
        if not active:
            continue
        here = r.choice(active)
        following = world.steps[here[0]]
        if anomaly == "template" and r.random() < share:
            yield (world.line(r, t, r.choice(world.unseen), here[1]), True)
            made += 1
            continue
        if anomaly == "order" and here[0] != "start" and r.random() < share:
            wrong = [s for s in all_steps if s not in following and s != here[0] and reachable(world, s, here[0])]
            if wrong:
                yield (world.line(r, t, r.choice(wrong), here[1]), True)
                made += 1
                continue
        if not following:
            if "thread" in here[1]:
                free.append(here[1]["thread"])
            active.remove(here)
            continue
        here[0] = r.choices(list(following), list(following.values()))[0]
        odd = "value" if anomaly == "value" and r.random() < share else None
        yield (world.line(r, t, here[0], here[1], odd), odd is not None)
        made += 1


def reachable(world, step, last):
    """A step of the same kind of session as `last` (sshd or cron, for example)."""
    return ("cron" in step) == ("cron" in last)


def generate(kind, count, seed):
    return [line for line, _ in lines_of(kind, count, seed)]


def plant(kind, count, seed, anomaly, share=0.01):
    made = list(lines_of(kind, count, seed, anomaly, share, start=40000.0))
    return [line for line, _ in made], [flag for _, flag in made]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--lines", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--anomaly", choices=ANOMALIES)
    given = parser.parse_args()
    if given.anomaly:
        for text, flag in zip(*plant(given.kind, given.lines, given.seed, given.anomaly)):
            print(("ANOMALY " if flag else "- ") + text)
    else:
        print("\n".join(generate(given.kind, given.lines, given.seed)))
