// @ts-check

/** What has a test write its file anew before it is held against it; `src/testing/golden.ts` reads it. */
export const SWITCH = 'UPDATE_GOLDEN'

/** Stands in the name of every test that writes, so that no other of its file is run to write. */
export const MARK = '(golden)'

/** The tests of files that are made from definitions, from the folder of the checkout. `golden.test.ts` says when one is missing. */
export const GOLDEN_TESTS = [
  'packages/quartermaster/src/adapters/cli/reference.test.ts',
  'packages/quartermaster/src/adapters/project-files/json-schemas.test.ts',
  'packages/quartermaster/test/agreement/prompt.test.ts',
  'packages/quartermaster/test/docs/api.test.ts',
  'packages/quartermaster/test/docs/builtin-tools.test.ts',
]
