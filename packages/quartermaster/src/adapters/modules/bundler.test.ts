import { expect, it } from 'vitest'
import { createBundler } from './bundler.ts'
import type { Entry } from './entries.ts'
import { createFiles } from './inputs.ts'
import { useCapabilityProject } from './testing/capability-project.ts'

const project = useCapabilityProject()

function openBundler(signal = new AbortController().signal) {
  return createBundler({ root: project.path(''), packageEntries: {}, files: createFiles(), signal })
}

async function writeEntry(name: string, text: string): Promise<Entry> {
  const id = `capabilities/${name}.ts`
  return { id, name, file: await project.write(id, text) }
}

it('reads a shared helper once, so that all modules of a load get the same text of it', async () => {
  await project.write('capabilities/_helper.ts', 'export const edition = "first"')
  const a = await writeEntry('a', 'export { edition } from "./_helper.ts"')
  const b = await writeEntry('b', 'export { edition } from "./_helper.ts"')
  const bundler = openBundler()
  await bundler.bundle(a)
  await project.write('capabilities/_helper.ts', 'export const edition = "second"')
  expect(await bundler.bundle(b)).toMatchObject({ bundle: { code: expect.stringContaining('"first"') } })
  expect(await openBundler().bundle(b)).toMatchObject({ bundle: { code: expect.stringContaining('"second"') } })
})

it('starts no build after the load was stopped', async () => {
  const a = await writeEntry('a', 'export {}')
  await expect(openBundler(AbortSignal.abort()).bundle(a)).rejects.toMatchObject({ name: 'AbortError' })
})
