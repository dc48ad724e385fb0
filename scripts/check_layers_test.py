#!/usr/bin/env python3
"""Proves that check_layers.py finds each kind of violation and leaves clean code alone."""

import pathlib
import tempfile
import unittest

import check_layers


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("src/base/check.h", "#include <string>\n")
        self.write("src/tensor/view.h", '#include "base/check.h"\n')
        self.write("src/ops/norm.h", '#include "tensor/view.h"\n')
        self.write("src/ops/cpu/norm.h", '#include "ops/norm.h"\n')
        self.write("src/weights/source.h", '#include "tensor/view.h"\n#include "lingbot/error.h"\n')
        self.write("src/engine/session.h", '#include "weights/source.h"\n')
        self.write("include/lingbot/error.h", "#include <string>\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def violations(self):
        return check_layers.Checker(self.root).run()

    def expect_one(self, start):
        found = self.violations()
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(start), found[0])

    def test_clean_tree_passes(self):
        self.assertEqual(self.violations(), [])

    def test_every_layer_may_include_only_earlier_ones(self):
        order = list(check_layers.LAYERS)
        for layer, allowed in check_layers.LAYERS.items():
            for other in allowed:
                self.assertLess(order.index(other), order.index(layer), f"{layer} <- {other}")

    def test_upward_include(self):
        self.write("src/base/check.cc", '\n#include "engine/session.h"\n')
        self.expect_one("src/base/check.cc:2: arrows:")

    def test_upward_include_in_angle_brackets(self):
        self.write("src/base/check.cc", "#include <tensor/view.h>\n")
        self.expect_one("src/base/check.cc:1: arrows:")

    def test_sideways_include(self):
        self.write("src/media/image.cc", '#include "weights/source.h"\n')
        self.expect_one("src/media/image.cc:1: arrows:")

    def test_include_relative_to_the_file(self):
        self.write("src/base/check.cc", '#include "../engine/session.h"\n')
        self.expect_one("src/base/check.cc:1: arrows:")

    def test_commented_include_is_no_include(self):
        self.write("src/base/check.cc", '// #include "engine/session.h"\n/*\n#include "engine/session.h"\n*/\n')
        self.assertEqual(self.violations(), [])

    def test_operator_source_may_dispatch_but_its_header_may_not(self):
        self.write("src/ops/norm.cc", '#include "ops/cpu/norm.h"\n')
        self.assertEqual(self.violations(), [])
        self.write("src/ops/softmax.h", '#include "ops/cpu/norm.h"\n')
        self.expect_one("src/ops/softmax.h:1: arrows:")

    def test_tests_may_read_golden_files(self):
        self.write("src/media/image_test.cc", '#include "weights/source.h"\n')
        self.assertEqual(self.violations(), [])
        self.write("src/media/image_test.cc", '#include "engine/session.h"\n')
        self.expect_one("src/media/image_test.cc:1: arrows:")

    def test_unknown_folder(self):
        self.write("src/utils/misc.h", "\n")
        self.expect_one("src/utils/misc.h:1: known:")

    def test_public_header_includes_source(self):
        self.write("include/lingbot/model.h", '#include "weights/source.h"\n')
        self.expect_one("include/lingbot/model.h:1: arrows:")

    def test_device_code_outside_its_folder(self):
        self.write("src/ops/cuda/norm.cu", "\n")
        self.write("training/renderer.cu", "\n")
        self.assertEqual(self.violations(), [])
        self.write("src/cache/gather.cu", "\n")
        self.expect_one("src/cache/gather.cu:1: cuda:")

    def test_noise(self):
        for call in ('std::cout << 1;', 'std::getenv("A");', 'printf("x");', 'std::fprintf(stderr, "x");',
                     "abort();", "std::terminate();", "exit(1);", "assert(x);", 'fmt::print("x");'):
            self.write("src/base/check.cc", f"void F() {{\n  {call}\n}}\n")
            self.expect_one("src/base/check.cc:2: quiet:")

    def test_what_only_looks_like_noise(self):
        self.write("src/base/check.cc",
                   'static_assert(true);\n// never printf( here\nconst char* a = "abort()";\n'
                   'int n = 1\'000\'000; char c = \'"\'; std::snprintf(b, 1, "x");\nint Blueprint();\n'
                   'const char* r = R"(std::cout " assert()";\n')
        self.assertEqual(self.violations(), [])

    def test_noise_after_digit_separators(self):
        self.write("src/base/check.cc", "int n = 1'000;\nvoid F() { abort(); }\nint m = 2'000;\n")
        self.expect_one("src/base/check.cc:2: quiet:")

    def test_programs_and_tests_may_print(self):
        self.write("src/cli/main.cc", 'int main() { printf("x"); }\n')
        self.write("src/base/check_test.cc", 'void F() { setenv("A", "b", 1); }\n')
        self.assertEqual(self.violations(), [])

    def test_machine_paths(self):
        self.write("docs/a.md", "see /" + "home/someone/notes\n")
        self.expect_one("docs/a.md:1: paths:")

    def test_ordinary_paths(self):
        self.write("docs/a.md", "/usr/share /proc/meminfo docs/work/a include/root/x ~/home/x\n")
        self.assertEqual(self.violations(), [])

    def test_markers(self):
        self.write("docs/a.md", "fine\nTO" + "DO: later\n")
        self.expect_one("docs/a.md:2: markers:")

    def test_length(self):
        self.write("src/base/long.cc", "\n" * (check_layers.MAX_LINES + 1))
        self.expect_one(f"src/base/long.cc:{check_layers.MAX_LINES + 1}: length:")


if __name__ == "__main__":
    unittest.main()
