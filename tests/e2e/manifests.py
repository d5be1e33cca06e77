"""deploy/kubernetes as the test sees it: the objects that an overlay makes, and what is wrong with some.

`schema_errors` holds them against the schemas of Kubernetes, `weaknesses` against what the README promises of safety,
and `disagreements` says where two objects, or an object and a file, do not fit together. Each returns sentences.
"""
import pathlib
import re
import shutil
import subprocess
import sys

from blinktest import SOURCE_DIR

FOLDER = SOURCE_DIR / "deploy" / "kubernetes"
OVERLAYS = sorted(path.name for path in (FOLDER / "overlays").iterdir())
SCHEMAS = SOURCE_DIR / ".deps" / "kubernetes"
# The oldest that the README names, and the newest that the pinned schemas have.
VERSIONS = ("1.25", "1.37")
NODES_PORT = 7443

if SCHEMAS.is_dir():
    sys.path.insert(0, str(SCHEMAS))


def missing():
    """Why nothing can be checked here; empty: it can."""
    if not shutil.which("kubectl") or not SCHEMAS.is_dir():
        return "kubectl or the schemas of Kubernetes are not installed: scripts/install-deps --kubernetes brings them"
    return ""


def load(text):
    import yaml  # of .deps
    return [part for part in yaml.safe_load_all(text) if part]


def render(folder):
    """What `kubectl apply -k` would send."""
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"kubectl kustomize {folder}\n{done.stderr}")
    return load(done.stdout)


def name_of(thing):
    return f"{thing['kind']} {thing['metadata']['name']}"


def of_kind(objects, *kinds):
    return [thing for thing in objects if thing["kind"] in kinds]


def named(objects, kind, name):
    return next((thing for thing in of_kind(objects, kind) if thing["metadata"]["name"] == name), None)


def pods(objects):
    """(what makes it, its labels, its spec) of every pod."""
    for thing in objects:
        if thing["kind"] == "Pod":
            yield name_of(thing), thing["metadata"].get("labels", {}), thing["spec"]
        elif thing["kind"] in ("StatefulSet", "Deployment", "DaemonSet", "Job"):
            template = thing["spec"]["template"]
            yield name_of(thing), template["metadata"]["labels"], template["spec"]


def containers(spec):
    return spec.get("initContainers", []) + spec["containers"]


def selects(selector, labels):
    wanted = selector.get("matchLabels", {})
    return bool(wanted) and wanted.items() <= labels.items()


# ---- schemas

def schema_errors(objects, version):
    import kubernetes_validate
    found = []
    for thing in objects:
        try:
            kubernetes_validate.validate(thing, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            found.append(f"{name_of(thing)}: {'.'.join(map(str, error.path))}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError as error:
            found.append(f"{name_of(thing)}: {error.message}")
    return found


# ---- safety

def weak_pod(spec):
    context = spec.get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            yield f"{key} shares the machine's"
    if spec.get("automountServiceAccountToken") is not False:
        yield "it has a token for the cluster's API"
    if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
        yield "it may run as root"
    if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "system calls are not filtered"
    for volume in spec.get("volumes", []):
        if "hostPath" in volume:
            yield f"volume {volume['name']} is a folder of the machine"
        if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
            yield f"volume {volume['name']} may fill the machine's disk"


def weak_container(container, serves):
    context = container.get("securityContext", {})
    if context.get("privileged"):
        yield "it is privileged"
    if context.get("allowPrivilegeEscalation") is not False:
        yield "it may gain privileges"
    if context.get("readOnlyRootFilesystem") is not True:
        yield "its root can be written"
    capabilities = context.get("capabilities", {})
    if capabilities.get("drop") != ["ALL"] or capabilities.get("add"):
        yield "it keeps capabilities"
    if context.get("runAsUser") == 0 or context.get("runAsNonRoot") is False:
        yield "it may run as root"
    resources = container.get("resources", {})
    if "memory" not in resources.get("limits", {}) or not {"cpu", "memory"} <= resources.get("requests", {}).keys():
        yield "its resources are not bounded"
    image = container["image"]
    if not re.search(r"@sha256:[0-9a-f]{64}$", image) and re.search(r":latest$|/[^:]*$|^[^:/]*$", image):
        yield f"the image {image} has no fixed tag"
    for port in container.get("ports", []):
        if "hostPort" in port:
            yield f"port {port['name']} is taken on the machine"
    for variable in container.get("env", []):
        if re.search(r"PASSWORD$|SECRET$|TOKEN$", variable["name"]) or "@" in variable.get("value", ""):
            yield f"{variable['name']} shows a secret"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe") if serves else ():
        if probe not in container:
            yield f"it has no {probe}"


def weak_policies(objects, labels):
    policies = [policy["spec"] for policy in of_kind(objects, "NetworkPolicy")
                if selects(policy["spec"]["podSelector"], labels)]
    for direction in ("Ingress", "Egress"):
        if not any(direction in policy.get("policyTypes", []) for policy in policies):
            yield f"no NetworkPolicy limits its {direction.lower()}"
    for policy in policies:
        for rule in policy.get("egress", []):
            if not rule.get("to") or not rule.get("ports"):
                yield "it may call everybody"
        for rule in policy.get("ingress", []):
            if not rule.get("from") and [port["port"] for port in rule.get("ports", [])] != [NODES_PORT]:
                yield "everybody reaches a port that asks for no certificate"


def weaknesses(objects):
    found = []
    for owner, labels, spec in pods(objects):
        serves = not owner.startswith("Pod ")
        found += [f"{owner}: {what}" for what in weak_pod(spec)]
        for container in containers(spec):
            found += [f"{owner}, container {container['name']}: {what}" for what in weak_container(container, serves)]
        if serves:
            found += [f"{owner}: {what}" for what in weak_policies(objects, labels)]
    for thing in of_kind(objects, "ServiceAccount"):
        if thing.get("automountServiceAccountToken") is not False:
            found.append(f"{name_of(thing)}: it gives its pods a token")
    for thing in of_kind(objects, "Secret"):
        found.append(f"{name_of(thing)}: a secret lies among the manifests")
    for thing in of_kind(objects, "Namespace"):
        if thing["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
            found.append(f"{name_of(thing)}: it admits weaker pods")
    return found


# ---- agreement

def settings(objects):
    """The keys of the rendered aggregator.conf."""
    maps = [thing for thing in of_kind(objects, "ConfigMap") if "aggregator.conf" in thing.get("data", {})]
    return dict(re.findall(r'^([a-z-]+)="?([^"\n]*)"?$', maps[0]["data"]["aggregator.conf"], re.MULTILINE))


def documented():
    """{name: its keys} of the Secrets and ConfigMaps that the README makes."""
    text = (FOLDER / "README.md").read_text().replace("\\\n", " ")
    made = {}
    for name, rest in re.findall(r"create (?:secret generic|configmap) (\S+)(.*)", text):
        files = re.findall(r"--from-file=(\S+)", rest)
        made.setdefault(name, set()).update(file.split("=")[0].rsplit("/", 1)[-1] for file in files)
    return made


def mounts(container):
    return {mount["mountPath"]: mount for mount in container.get("volumeMounts", [])}


def mount_of(container, path):
    """The mount that a path lies in: the deepest."""
    inside = [mount for at, mount in mounts(container).items() if pathlib.PurePath(path).is_relative_to(at)]
    return max(inside, key=lambda mount: len(mount["mountPath"]), default=None)


def lost_volumes(objects, owner, spec):
    claims = {thing["metadata"]["name"] for thing in of_kind(objects, "PersistentVolumeClaim")}
    kind, name = owner.split()
    templates = named(objects, kind, name)["spec"].get("volumeClaimTemplates", [])
    defined = {volume["name"]: volume for volume in spec.get("volumes", [])}
    have = set(defined) | {template["metadata"]["name"] for template in templates}
    used = {mount["name"] for container in containers(spec) for mount in mounts(container).values()}
    yield from (f"volume {volume} is mounted and not defined" for volume in sorted(used - have))
    yield from (f"volume {volume} is defined and not mounted" for volume in sorted(have - used))
    for volume in defined.values():
        wanted = volume.get("persistentVolumeClaim", {}).get("claimName")
        if wanted and wanted not in claims:
            yield f"there is no claim {wanted}"
        made = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
        if made and made not in documented() and not named(objects, "ConfigMap", made):
            yield f"the README does not make {made}"


def lost_ports(objects, labels, spec):
    ports = {port["name"]: port["containerPort"] for container in containers(spec) for port in container["ports"]}
    for container in containers(spec):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            for how in ("httpGet", "tcpSocket"):
                port = container.get(probe, {}).get(how, {}).get("port")
                if port and port not in ports:
                    yield f"{probe} asks at {port}, which is no port of it"
    for service in of_kind(objects, "Service"):
        if service["spec"]["selector"].items() <= labels.items():
            yield from (f"{name_of(service)} leads to {port['targetPort']}, which is no port of it"
                        for port in service["spec"]["ports"] if port["targetPort"] not in ports)
    for policy in of_kind(objects, "NetworkPolicy"):
        if selects(policy["spec"]["podSelector"], labels):
            yield from (f"{name_of(policy)} opens {port['port']}, which is no port of it"
                        for rule in policy["spec"].get("ingress", []) for port in rule["ports"]
                        if port["port"] not in ports.values())


def lost_settings(objects, container):
    """Where the aggregator's container does not fit its configuration, or a file is not where it is sought."""
    conf, made = settings(objects), documented()
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for key, port in (("listen", "nodes"), ("http-listen", "http")):
        if conf[key] != f"0.0.0.0:{ports[port]}":
            yield f"{key} is {conf[key]}, and port {port} {ports[port]}"
    if container["lifecycle"]["preStop"]["exec"]["command"] != ["blink-aggregator", "drain", "--data", conf["data"]]:
        yield "preStop drains another data folder"
    files = {"config": container["args"][1], **{key: conf[key] for key in
             ("roster", "revocations", "tls-certificate", "tls-key", "tls-ca")}}
    files |= {"store-file": variable["value"] for variable in container.get("env", [])
              if variable["name"] == "BLINK_AGGREGATOR_STORE_FILE"}
    known = set().union(*made.values()) | {"aggregator.conf"}
    for key, path in files.items():
        mount = mount_of(container, path)
        if not mount or not mount.get("readOnly") or pathlib.PurePath(path).parent != pathlib.PurePath(
                mount["mountPath"]):
            yield f"{key}: {path} is not in a volume that is only read"
        elif pathlib.PurePath(path).name not in known:
            yield f"{key}: the README makes no {pathlib.PurePath(path).name}"
    if "attributes" in conf and conf["attributes"] not in mounts(container):
        yield f"attributes: {conf['attributes']} is not mounted"
    writable = sorted(at for at, mount in mounts(container).items() if not mount.get("readOnly") and at != "/tmp")
    if writable not in ([conf["data"]], [conf["data"], conf["data"] + "/rounds"]):
        yield f"{writable} can be written, and the data folder is {conf['data']}"


def disagreements(objects):
    found = []
    for owner, labels, spec in pods(objects):
        found += [f"{owner}: {what}" for what in lost_volumes(objects, owner, spec)]
        found += [f"{owner}: {what}" for what in lost_ports(objects, labels, spec)]
        if not named(objects, "ServiceAccount", spec.get("serviceAccountName", "")):
            found.append(f"{owner}: its ServiceAccount does not exist")
        for container in containers(spec):
            if container["name"] == "aggregator":
                found += [f"{owner}: {what}" for what in lost_settings(objects, container)]
    for thing in of_kind(objects, "StatefulSet"):
        if not named(objects, "Service", thing["spec"]["serviceName"]):
            found.append(f"{name_of(thing)}: there is no Service {thing['spec']['serviceName']}")
        if not selects(thing["spec"]["selector"], thing["spec"]["template"]["metadata"]["labels"]):
            found.append(f"{name_of(thing)}: it does not select its own pods")
    every = [labels for _, labels, _ in pods(objects)]
    for thing in of_kind(objects, "Service", "NetworkPolicy", "PodDisruptionBudget"):
        spec = thing["spec"]
        selector = {"matchLabels": spec["selector"]} if thing["kind"] == "Service" else (
            spec.get("podSelector") or spec.get("selector"))
        if not any(selects(selector, labels) for labels in every):
            found.append(f"{name_of(thing)}: it selects no pod")
    return found
