import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
/** A package that a line of the build imports, as the bundler writes it. */
const IMPORTED = /(?:^import|\bfrom|\bimport\() ?"(?!node:)((?:@[\w.-]+\/)?[a-z][\w.-]*)(?:\/[^"]*)?"\)?;$/gm

let packed: Promise<string[]> | undefined

/** What npm would put into the package. Asked once: npm takes its time. */
function packedFiles(): Promise<string[]> {
  packed ??= pack()
  return packed
}

async function pack(): Promise<string[]> {
  const options = { cwd: PACKAGE, shell: process.platform === 'win32', maxBuffer: 16 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options)
  const [listed] = JSON.parse(stdout) as { files: { path: string }[] }[]
  return listed?.files.map(({ path }) => path) ?? []
}

it('the package holds the build, the schemas, what it is and its licence, and nothing of how it was made', async () => {
  const files = await packedFiles()
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'LICENSE',
      'package.json',
      'dist/bin/quartermaster.js',
      'dist/knowledge.json',
    ]),
  )
  const others = files.filter(path => !/^(?:README\.md|LICENSE|package\.json|(?:dist|schemas)\/.*)$/.test(path))
  expect([others, files.filter(path => path.split('/').some(part => part.startsWith('.')))]).toEqual([[], []])
})

it('the package passes on the licences of the packages that are in the build', async () => {
  expect(await packedFiles()).toContain('dist/NOTICES.txt')
  const notices = await readFile(join(PACKAGE, 'dist/NOTICES.txt'), 'utf8')
  const named = ['ajv', 'ajv-formats', 'fast-deep-equal', 'fast-uri', 'json-schema-traverse', 'kysely', 'yaml']
  expect(named.filter(name => !notices.split('\n').includes(name))).toEqual([])
})

it('the package is installed with everything that it imports', async () => {
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))
  const files = (await packedFiles()).filter(path => /^dist\/.*\.js$/.test(path))
  const texts = await Promise.all(files.map(path => readFile(join(PACKAGE, path), 'utf8')))
  const imported = new Set(texts.flatMap(text => [...text.matchAll(IMPORTED)].map(([, name]) => name ?? '')))
  const installed = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies), 'quartermaster'])
  expect([...imported].filter(name => !installed.has(name))).toEqual([])
  expect(imported).toContain('zod')
  expect([...imported].filter(name => ['ajv', 'ajv-formats', 'kysely', 'yaml'].includes(name))).toEqual([])
})

it('the package needs no SDK of an agent framework, except where one is asked for', async () => {
  const { dir } = await tempProject()
  const { dependencies } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))
  const modules = join(dir, 'node_modules')
  // A copy and no link: from a link everything would be found that is installed here.
  const filter = (file: string) => !/\.(?:map|d\.ts)$/.test(file)
  await cp(join(PACKAGE, 'dist'), join(modules, 'quartermaster/dist'), { recursive: true, filter })
  await cp(join(PACKAGE, 'package.json'), join(modules, 'quartermaster/package.json'))
  for (const name of Object.keys(dependencies)) await linkInto(modules, name)
  const looks = ['', '/probes', '/prompt', '/openai', '/langchain', '/ai'].map(
    entry => `await look('quartermaster${entry}')`,
  )
  const program = `
    const look = name => import(name).then(() => console.log(name), error => console.log(name, error.code, error.message))
    ${looks.join('\n')}
    const { agentTools } = await import('quartermaster/openai')
    await agentTools({}).catch(error => console.log(error.message))`
  await writeFile(join(dir, 'program.mjs'), program)
  const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: dir })
  expect(stdout.split('\n')).toEqual([
    'quartermaster',
    'quartermaster/probes',
    'quartermaster/prompt',
    'quartermaster/openai',
    expect.stringMatching(/^quartermaster\/langchain ERR_MODULE_NOT_FOUND .*'@langchain\/core'/),
    expect.stringMatching(/^quartermaster\/ai ERR_MODULE_NOT_FOUND .*'ai'/),
    'agentTools needs the OpenAI Agents SDK. Install it: npm install @openai/agents.',
    '',
  ])
})

it.each(['index', 'probes', 'prompt', 'openai'])(
  'the types of the entry %s need no package that is not installed with it',
  async entry => {
    const { dependencies } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))
    const installed = new Set([...Object.keys(dependencies), 'node'])
    const imported = await typesBehind(join(PACKAGE, 'dist/modules', `${entry}.d.ts`))
    expect([...imported].filter(name => !installed.has(name))).toEqual([])
  },
)

/** The packages that declarations lead to, over as many files as it takes. */
async function typesBehind(file: string, seen = new Set<string>()): Promise<Set<string>> {
  const packages = new Set<string>()
  if (seen.has(file)) return packages
  seen.add(file)
  const text = await readFile(file, 'utf8')
  for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport\(|^import) ?['"]([^'"]+)['"]/gm)) {
    if (!name.startsWith('.'))
      packages.add(name.startsWith('node:') ? 'node' : (/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name))
    else for (const one of await typesBehind(declared(join(dirname(file), name)), seen)) packages.add(one)
  }
  return packages
}

function declared(file: string): string {
  return file.replace(/\.[jt]s$/, '.d.ts')
}

async function linkInto(modules: string, name: string): Promise<void> {
  const installed = fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url))
  await mkdir(dirname(join(modules, name)), { recursive: true })
  await symlink(installed, join(modules, name), 'junction')
}

it('the package has the licence of the whole', async () => {
  const licence = await readFile(new URL('../../../LICENSE', import.meta.url), 'utf8')
  expect(await readFile(new URL('../LICENSE', import.meta.url), 'utf8')).toBe(licence)
})
