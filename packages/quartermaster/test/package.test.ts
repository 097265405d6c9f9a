import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const PROGRAM = join(PACKAGE, 'dist/bin/quartermaster.js')
/** A package that a line of the build imports, as the bundler writes it. */
const IMPORTED = /(?:^import|\bfrom|\bimport\() ?"(?!node:)((?:@[\w.-]+\/)?[a-z][\w.-]*)(?:\/[^"]*)?"\)?;$/gm

const run = promisify(execFile)
const isWindows = process.platform === 'win32'

interface Packed {
  readonly tarball: string
  readonly files: readonly string[]
}

let packed: Promise<Packed> | undefined

/** What npm puts into the package. Packed once: npm takes its time. */
function pack(): Promise<Packed> {
  packed ??= packInto(folder)
  return packed
}

async function packInto(dir: string): Promise<Packed> {
  const options = { cwd: PACKAGE, shell: isWindows, maxBuffer: 16 * 1024 * 1024 }
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], options)
  const [listed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[]
  return { tarball: join(dir, listed?.filename ?? ''), files: listed?.files.map(({ path }) => path) ?? [] }
}

async function packedFiles(): Promise<readonly string[]> {
  return (await pack()).files
}

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'package-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('the package holds the build, the schemas, what it is and its licence, and nothing of how it was made', async () => {
  const files = await packedFiles()
  expect(files).toEqual(
    expect.arrayContaining([
      'README.md',
      'LICENSE',
      'package.json',
      'bin/quartermaster.js',
      'dist/bin/quartermaster.js',
      'dist/knowledge.json',
    ]),
  )
  const others = files.filter(path => !/^(?:README\.md|LICENSE|package\.json|(?:bin|dist|schemas)\/.*)$/.test(path))
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
  const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: dir })
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
    const imported = await typesBehind(join(PACKAGE, 'dist', `${entry}.d.ts`))
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

describe('a project that `init` made', () => {
  const weather = new URL('../../../examples/hello/capabilities/weather.ts', import.meta.url)

  async function makeProject(dir: string, program: string): Promise<{ install: string[]; dependency: string }> {
    const { stdout } = await run(process.execPath, [program, 'init', '--json', dir])
    await cp(weather, join(dir, 'capabilities/weather.ts'))
    const manifest = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as {
      devDependencies: { quartermaster: string }
    }
    return { ...JSON.parse(stdout), dependency: manifest.devDependencies.quartermaster }
  }

  /** What an editor underlines: as the project says, and for those who want what Node itself takes. */
  async function complaints(dir: string): Promise<string[]> {
    const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
    const check = (...more: string[]) =>
      run(process.execPath, [compiler, '-p', dir, ...more]).then(
        () => '',
        (error: { stdout?: string; message: string }) => error.stdout || error.message,
      )
    return [await check(), await check('--module', 'nodenext')]
  }

  it('has no type error when it is made from a clone and installed, and has the command', async () => {
    const { dir } = await tempProject()
    const { install, dependency } = await makeProject(dir, PROGRAM)
    expect([install, dependency]).toEqual([['npm', 'install'], `file:${PACKAGE.replace(/[\\/]$/, '')}`])
    // The types of Node come from a registry, which a test does not ask.
    const types = fileURLToPath(new URL('../../../node_modules/@types/node', import.meta.url))
    const manifest = { type: 'module', devDependencies: { '@types/node': `file:${types}`, quartermaster: dependency } }
    await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
    await run('npm', ['install', '--offline', '--ignore-scripts'], { cwd: dir, shell: isWindows })
    expect(await complaints(dir)).toEqual(['', ''])
    const { stdout } = await run('npx', ['--no-install', 'quartermaster', '--version'], { cwd: dir, shell: isWindows })
    expect(stdout).toMatch(/^\d+\.\d+\.\d+/)
  })

  it('has no type error when it is made from the packed package', async () => {
    const [{ dir }, { dir: home }] = [await tempProject(), await tempProject()]
    const installed = join(home, 'node_modules/quartermaster')
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', (await pack()).tarball, '-C', installed, '--strip-components=1'])
    const { dependencies } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies)) await linkInto(join(home, 'node_modules'), name)
    const { dependency } = await makeProject(dir, join(installed, 'bin/quartermaster.js'))
    expect(dependency).toBe(`file:${(await realpath(installed)).replaceAll('\\', '/')}`)
    // What `npm install` does with such a dependency.
    await mkdir(join(dir, 'node_modules'))
    await symlink(installed, join(dir, 'node_modules/quartermaster'), 'junction')
    await linkInto(join(dir, 'node_modules'), '@types/node')
    expect(await complaints(dir)).toEqual(['', ''])
  })
})

it('the command says what to do where nothing is built yet', async () => {
  const { dir } = await tempProject()
  await cp(join(PACKAGE, 'bin'), join(dir, 'packages/quartermaster/bin'), { recursive: true })
  await writeFile(join(dir, 'package.json'), '{ "type": "module" }')
  const failed = await run(process.execPath, [join(dir, 'packages/quartermaster/bin/quartermaster.js')]).catch(
    (error: unknown) => error,
  )
  const stderr = `Quartermaster is not built yet. Run "npm run build" in ${await realpath(dir)}/\n`
  expect(failed).toMatchObject({ code: 1, stdout: '', stderr })
})

it('the package has the licence of the whole', async () => {
  const licence = await readFile(new URL('../../../LICENSE', import.meta.url), 'utf8')
  expect(await readFile(new URL('../LICENSE', import.meta.url), 'utf8')).toBe(licence)
})
