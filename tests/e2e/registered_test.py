"""That every class of tests in this folder is run: CMakeLists.txt names each of them."""
import ast
import pathlib
import re

import blinktest

FOLDER = pathlib.Path(__file__).parent


def classes_with_tests(source):
    """Names of the classes that have a test of their own."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and
            any(isinstance(part, ast.FunctionDef) and part.name.startswith("test_") for part in node.body)]


class Tests(blinktest.BlinkTest):

    def test_a_class_without_a_test_of_its_own_need_not_be_named(self):
        source = "class A:\n def setUp(self): pass\nclass B(A):\n def test_x(self): pass"
        self.assertEqual(classes_with_tests(source), ["B"])

    def test_every_class_with_a_test_is_registered(self):
        named = set(re.findall(r"^blink_e2e\((\w+) (\w+)", (FOLDER / "CMakeLists.txt").read_text(), re.MULTILINE))
        for path in sorted(FOLDER.glob("*_test.py")):
            for name in classes_with_tests(path.read_text()):
                self.assertIn((path.stem.removesuffix("_test"), name), named, "CMakeLists.txt must name it")


if __name__ == "__main__":
    blinktest.main()
