"""The manifests of deploy/kubernetes: every overlay is rendered, valid, safe, and fits together, and what would break
one of these is found. Skips, saying why, without kubectl or the schemas of Kubernetes."""
import copy
import pathlib
import re
import shutil
import tempfile

import blinktest
import manifests
from blinktest import BlinkTest, Deployment, run
from manifests import FOLDER, OVERLAYS, disagreements, named, of_kind, schema_errors, weaknesses


def aggregator(objects):
    """The pod of the aggregator, and its container."""
    spec = named(objects, "StatefulSet", "blink-aggregator")["spec"]["template"]["spec"]
    return spec, spec["containers"][0]


def peers(objects):
    """Who is called by the aggregator: (peer, ports) of its policies."""
    return [(peer, [port["port"] for port in rule["ports"]]) for policy in of_kind(objects, "NetworkPolicy")
            if policy["metadata"]["name"].startswith("blink-aggregator")
            for rule in policy["spec"].get("egress", []) for peer in rule["to"]]


class Rendered(BlinkTest):
    """Every overlay, rendered once."""

    @classmethod
    def setUpClass(cls):
        if manifests.missing():
            return
        cls.overlays = {name: manifests.render(FOLDER / "overlays" / name) for name in OVERLAYS}

    def setUp(self):
        if manifests.missing():
            self.skipTest(manifests.missing())


class Manifests(Rendered):

    def test_there_is_an_overlay_for_each_way_of_the_readme(self):
        self.assertEqual(OVERLAYS, ["gpu", "replicas", "replicas-trial", "single"])
        for name in OVERLAYS:
            self.assertIn(f"| `{name}` |", (FOLDER / "README.md").read_text())

    def test_every_object_is_valid_in_the_oldest_and_the_newest_kubernetes(self):
        for name, objects in self.overlays.items():
            for version in manifests.VERSIONS:
                with self.subTest(name, version=version):
                    self.assertEqual(schema_errors(objects, version), [])

    def test_every_pod_is_as_safe_as_the_readme_promises(self):
        for name, objects in self.overlays.items():
            with self.subTest(name):
                self.assertEqual(weaknesses(objects), [])

    def test_names_ports_and_paths_agree(self):
        for name, objects in self.overlays.items():
            with self.subTest(name):
                self.assertEqual(disagreements(objects), [])

    def test_every_object_lies_in_the_namespace(self):
        for objects in self.overlays.values():
            for thing in objects:
                space = thing["metadata"]["name" if thing["kind"] == "Namespace" else "namespace"]
                self.assertEqual(space, "blink", manifests.name_of(thing))

    def test_the_pod_that_takes_the_attributes_is_valid_too(self):
        pod = manifests.load((FOLDER / "attributes-pod.yaml").read_text())
        self.assertEqual(schema_errors(pod, manifests.VERSIONS[0]) + weaknesses(pod), [])
        claim = pod[0]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
        for folder in ("base", "overlays/replicas"):
            alone = manifests.load((FOLDER / folder / "attributes-claim.yaml").read_text())
            self.assertEqual((schema_errors(alone, manifests.VERSIONS[0]), alone[0]["metadata"]["name"]), ([], claim))

    def test_the_user_is_that_of_the_image(self):
        dockerfile = (FOLDER.parent / "aggregator.Dockerfile").read_text()
        for objects in self.overlays.values():
            spec, _ = aggregator(objects)
            self.assertIn(f"useradd --uid {spec['securityContext']['runAsUser']} ", dockerfile)

    def test_only_replicas_share_a_database_and_a_volume(self):
        for name, objects in self.overlays.items():
            shared = name.startswith("replicas")
            spec, container = aggregator(objects)
            self.assertEqual(named(objects, "StatefulSet", "blink-aggregator")["spec"]["replicas"] > 1, shared, name)
            self.assertEqual("/var/lib/blink/rounds" in manifests.mounts(container), shared, name)
            modes = {claim["metadata"]["name"]: claim["spec"]["accessModes"]
                     for claim in of_kind(objects, "PersistentVolumeClaim")}
            expected = {"blink-attributes": ["ReadWriteMany"], "blink-rounds": ["ReadWriteMany"]} if shared else {
                "blink-attributes": ["ReadWriteOnce"]}
            self.assertEqual(modes, expected, name)
            self.assertEqual([volume["name"] for volume in spec["volumes"] if volume["name"] == "store"],
                             ["store"] if shared else [], name)

    def test_an_aggregator_calls_nobody_but_names_and_the_database(self):
        for name in ("single", "gpu"):
            self.assertEqual(peers(self.overlays[name]), [], name)
        names = ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                  "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}, [53, 53])
        self.assertEqual(peers(self.overlays["replicas"]), [names, ({"ipBlock": {"cidr": "192.0.2.10/32"}}, [5432])])
        inside = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "blink-postgres"}}}
        self.assertEqual(peers(self.overlays["replicas-trial"]), [names, (inside, [5432])])

    def test_only_the_overlay_with_a_gpu_asks_for_one(self):
        for name, objects in self.overlays.items():
            spec, container = aggregator(objects)
            self.assertEqual("nvidia.com/gpu" in container["resources"]["limits"], name == "gpu", name)
            self.assertEqual("nodeSelector" in spec, name == "gpu", name)
            self.assertEqual(container["image"].endswith("-cuda"), name == "gpu", name)

    def test_a_machine_can_be_drained_whatever_the_number_of_aggregators(self):
        for objects in self.overlays.values():
            budget = named(objects, "PodDisruptionBudget", "blink-aggregator")["spec"]
            self.assertEqual((budget.get("maxUnavailable"), budget.get("minAvailable")), (1, None))

    def test_probes_restart_for_life_and_turn_traffic_by_readiness(self):
        for objects in self.overlays.values():
            _, container = aggregator(objects)
            paths = {probe: container[probe]["httpGet"]["path"] for probe in
                     ("startupProbe", "livenessProbe", "readinessProbe")}
            self.assertEqual(paths, {"startupProbe": "/healthz", "livenessProbe": "/healthz",
                                     "readinessProbe": "/readyz"})

    def test_the_uri_of_the_readme_leads_to_the_database_of_the_trial(self):
        objects = self.overlays["replicas-trial"]
        user, host, port, database = re.search(r"postgresql://(\w+):[^@\n]*@([a-z.-]+):(\d+)/(\w+)",
                                               (FOLDER / "README.md").read_text()).groups()
        service = named(objects, "Service", host)
        self.assertEqual(service["spec"]["ports"][0]["port"], int(port))
        container = named(objects, "StatefulSet", host)["spec"]["template"]["spec"]["containers"][0]
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        self.assertEqual((variables["POSTGRES_USER"], variables["POSTGRES_DB"]), (user, database))
        self.assertTrue(manifests.mount_of(container, variables["POSTGRES_PASSWORD_FILE"])["readOnly"])

    def test_the_configuration_is_one_that_the_aggregator_takes(self):
        with Deployment(nodes=12, kits=1, name="demo") as blink:
            home = blink.out / "aggregator"
            places = {"/etc/blink/authority/revoked.crl.pem": home / "tls" / "revoked.crl.pem",
                      "/etc/blink/authority": home, "/etc/blink/tls": home / "tls",
                      "/var/lib/blink-attributes": home / "attributes", "/var/lib/blink": blink.data}
            for name, objects in self.overlays.items():
                text = next(thing["data"]["aggregator.conf"] for thing in of_kind(objects, "ConfigMap"))
                for there, here in places.items():
                    text = text.replace(f'"{there}', f'"{here}')
                config = blink.folder / f"{name}.conf"
                config.write_text(text)
                with self.subTest(name):
                    self.assertEnds(run("blink-aggregator", "--config", config, "--check-config"), blinktest.OK)
                    config.write_text(text + 'replicas="3"\n')
                    self.assertEnds(run("blink-aggregator", "--config", config, "--check-config"), blinktest.USAGE,
                                    "replicas")

    def test_an_overlay_whose_patch_is_missing_is_not_rendered(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "kubernetes"
        shutil.copytree(FOLDER, folder)
        (folder / "overlays" / "gpu" / "gpu.yaml").unlink()
        with self.assertRaisesRegex(AssertionError, "gpu.yaml"):
            manifests.render(folder / "overlays" / "gpu")


class Mistakes(Rendered):
    """Each is put in on purpose, and has to be found."""

    def broken(self, overlay, change):
        objects = copy.deepcopy(self.overlays[overlay])
        change(objects)
        return objects

    def finds(self, check, text, change, overlay="replicas-trial"):
        found = check(self.broken(overlay, change))
        self.assertTrue(any(text in what for what in found), f"{text!r} is not among {found}")

    def in_container(self, **changes):
        return lambda objects: aggregator(objects)[1].update(changes)

    def in_context(self, **changes):
        return lambda objects: aggregator(objects)[1]["securityContext"].update(changes)

    def in_pod(self, **changes):
        return lambda objects: aggregator(objects)[0].update(changes)

    def test_a_container_that_may_do_more_is_found(self):
        for text, change in (("is privileged", {"privileged": True}),
                             ("may gain privileges", {"allowPrivilegeEscalation": True}),
                             ("root can be written", {"readOnlyRootFilesystem": False}),
                             ("keeps capabilities", {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}}),
                             ("keeps capabilities", {"capabilities": {}}), ("run as root", {"runAsUser": 0})):
            self.finds(weaknesses, text, self.in_context(**change))

    def test_a_container_without_a_context_is_found(self):
        self.finds(weaknesses, "may gain privileges", lambda objects: aggregator(objects)[1].pop("securityContext"))

    def test_a_privileged_container_beside_the_others_is_found(self):
        for place in ("initContainers", "containers"):
            extra = {"name": "extra", "image": "busybox:1.36", "securityContext": {"privileged": True}}
            self.finds(weaknesses, "container extra: it is privileged",
                       lambda objects, place=place: aggregator(objects)[0].setdefault(place, []).append(extra))

    def test_a_pod_that_shares_with_its_machine_is_found(self):
        self.finds(weaknesses, "hostNetwork", self.in_pod(hostNetwork=True))
        for text, source in (("folder of the machine", {"hostPath": {"path": "/"}}),
                             ("fill the machine's disk", {"emptyDir": {}})):
            self.finds(weaknesses, text, self.in_pod(volumes=[{"name": "extra", **source}]))
        self.finds(weaknesses, "token", self.in_pod(automountServiceAccountToken=True))
        self.finds(weaknesses, "not filtered", self.in_pod(securityContext={"runAsNonRoot": True, "runAsUser": 1}))

    def test_an_image_that_may_become_another_is_found(self):
        for image in ("blink", "blink:latest", "registry.example.org:5000/blink"):
            self.finds(weaknesses, "no fixed tag", self.in_container(image=image))
        for image in ("blink:1", "r.example.org:5000/blink:1", "r.example.org/blink@sha256:" + "a" * 64):
            self.assertEqual(weaknesses(self.broken("single", self.in_container(image=image))), [])

    def test_a_secret_in_the_clear_is_found(self):
        uri = {"name": "BLINK_AGGREGATOR_STORE", "value": "postgresql://blink:sesame@db/blink"}
        self.finds(weaknesses, "shows a secret", self.in_container(env=[uri]))
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"a": "b"}}
        self.finds(weaknesses, "lies among the manifests", lambda objects: objects.append(secret))

    def test_a_container_without_a_probe_or_a_limit_is_found(self):
        for key, text in (("livenessProbe", "no livenessProbe"), ("resources", "not bounded")):
            self.finds(weaknesses, text, lambda objects, key=key: aggregator(objects)[1].pop(key))

    def test_an_open_network_is_found(self):
        def policy(objects):
            return named(objects, "NetworkPolicy", "blink-aggregator")["spec"]
        self.finds(weaknesses, "limits its ingress", lambda objects: policy(objects).update(policyTypes=["Egress"]))
        self.finds(weaknesses, "no certificate", lambda objects: policy(objects)["ingress"][1].pop("from"))
        self.finds(weaknesses, "call everybody", lambda objects: policy(objects).update(egress=[{}]))
        self.finds(weaknesses, "limits its egress", lambda objects: objects.remove(
            named(objects, "NetworkPolicy", "blink-aggregator")), "single")

    def test_a_namespace_that_admits_weaker_pods_is_found(self):
        self.finds(weaknesses, "weaker pods", lambda objects: named(objects, "Namespace", "blink")["metadata"].pop(
            "labels"))

    def test_a_key_that_kubernetes_does_not_know_is_found(self):
        for change in ({"livenessprobe": {}}, {"ports": [{"containerPort": "7443"}]}, {"image": 7}):
            self.finds(lambda objects: schema_errors(objects, manifests.VERSIONS[1]), "StatefulSet blink-aggregator",
                       self.in_container(**change))
        old = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "old"}, "spec": {}}
        self.finds(lambda objects: schema_errors(objects, manifests.VERSIONS[1]), "find schema",
                   lambda objects: objects.append(old))

    def test_names_ports_and_paths_that_do_not_agree_are_found(self):
        def conf(before, after):
            def change(objects):
                data = next(thing["data"] for thing in of_kind(objects, "ConfigMap"))
                data["aggregator.conf"] = data["aggregator.conf"].replace(before, after)
            return change
        self.finds(disagreements, "and port http 9464", conf("0.0.0.0:9464", "127.0.0.1:9464"))
        self.finds(disagreements, "another data folder", conf('data="/var/lib/blink"', 'data="/data"'))
        self.finds(disagreements, "is not in a volume", conf("/etc/blink/tls/server.key", "/etc/blink/server.key"))
        self.finds(disagreements, "the README makes no own.crt", conf("server.crt", "own.crt"))
        self.finds(disagreements, "no claim blink-rounds", lambda objects: objects.remove(
            named(objects, "PersistentVolumeClaim", "blink-rounds")))
        self.finds(disagreements, "no Service blink-aggregator-headless", lambda objects: objects.remove(
            named(objects, "Service", "blink-aggregator-headless")))
        self.finds(disagreements, "selects no pod", lambda objects: named(objects, "PodDisruptionBudget",
                   "blink-aggregator")["spec"]["selector"]["matchLabels"].update({"app.kubernetes.io/name": "other"}))
        self.finds(disagreements, "README does not make", lambda objects: [
            volume["secret"].update(secretName="other") for volume in aggregator(objects)[0]["volumes"]
            if "secret" in volume])
        self.finds(disagreements, "which is no port of it", self.in_container(ports=[
            {"name": "nodes", "containerPort": 7443}, {"name": "http", "containerPort": 9465}]))
        self.finds(disagreements, "is defined and not mounted", lambda objects: aggregator(objects)[0][
            "volumes"].append({"name": "spare", "emptyDir": {"sizeLimit": "1Mi"}}))


if __name__ == "__main__":
    blinktest.main()
