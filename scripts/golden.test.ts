import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { GOLDEN_TESTS, MARK, SWITCH } from './golden-tests.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const HELPER = 'packages/quartermaster/src/testing/golden.ts'

function sources(): Map<string, string> {
  const folders = ['packages/quartermaster/src', 'packages/quartermaster/test']
  const files = folders.flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  return new Map(files.filter(file => file.endsWith('.ts')).map(file => [file, readFileSync(join(ROOT, file), 'utf8')]))
}

it('every test that writes a file anew is run by `npm run golden`, and says in its name that it writes', () => {
  const files = sources()
  const writing = [...files].filter(([, text]) => /from '[^']*\/testing\/golden\.ts'/.test(text)).map(([file]) => file)
  expect(writing.sort()).toEqual([...GOLDEN_TESTS].sort())
  expect(GOLDEN_TESTS.filter(file => !files.get(file)?.includes(MARK))).toEqual([])
  const asking = [...files].filter(([, text]) => text.includes(`env.${SWITCH}`) || text.includes(`env['${SWITCH}']`))
  expect(asking.map(([file]) => file)).toEqual([HELPER])
})
