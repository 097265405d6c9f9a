import { expect, it } from 'vitest'
import { exitReport, withCacheReport } from './stdio-channel.ts'

const ENDED = { reason: 'It ended with exit code 1.' }

it.each([
  [
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /home/me/.npm/_npx/15c61037b1978c83/node_modules/a/index.js",
  ],
  [
    "Error: Cannot find module 'zod/v4'",
    'Require stack:',
    '- C:\\Users\\me\\AppData\\npm-cache\\_npx\\15c61037b1978c83\\node_modules\\a\\index.js',
  ],
  [
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/me/.npm/_npx/15c61037b1978c83/node_modules/zod/index.js' imported from /x",
  ],
  [
    "Cannot find package 'C:\\Users\\me\\npm-cache\\_npx\\15c61037b1978c83\\node_modules\\zod\\package.json' imported from C:\\x",
  ],
  ["npm error ENOTEMPTY: directory not empty, rename '/home/me/.npm/_npx/15c61037b1978c83/node_modules/a' -> '/b'"],
])('names the folder of the cache in which packages are missing: %s', (...lines) => {
  const { reason } = withCacheReport(ENDED, ['before', ...lines, 'Node.js v20.20.0'])
  expect(reason).toContain('It ended with exit code 1. Packages are missing in the cache of npx')
  expect(reason).toContain('Remove "_npx/15c61037b1978c83" from npm\'s cache')
})

it.each([
  [
    "Error: ENOENT: no such file or directory, open '/data/x'",
    '    at a (/home/me/.npm/_npx/15c61037b1978c83/node_modules/a/index.js:1:1)',
  ],
  ["Error: Cannot find module './settings.js'", 'Require stack:', '- /home/me/.npm/_npx/15c61037b1978c83/a.js'],
  ["Cannot find package 'zod' in /_npx/remove-me-and-all/x"],
])('blames the cache for nothing else: %s', (...lines) => {
  expect(withCacheReport(ENDED, lines)).toBe(ENDED)
})

it.each([
  [{ code: null, signal: 'SIGKILL' }, undefined],
  [{ code: 1, signal: null }, 'Ready.'],
] as const)('takes the last line for the cause only where the program ended by itself: %o', (exit, said) => {
  expect(exitReport(exit, 'Ready.').said).toBe(said)
})
