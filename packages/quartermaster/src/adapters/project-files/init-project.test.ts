import { readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { collectDefinitions } from '../../core/catalogue/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import {
  agentJsonSchema,
  configJsonSchema,
  createAgentFiles,
  findProject,
  initProject,
  readProjectConfig,
  writeFirstAgent,
} from './index.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

const start = (dir: string, { force = false } = {}) => initProject({ dir, packageDir: '/quarters/master', force })

const FILES = [
  'quartermaster.config.json',
  'agents/default.json',
  'capabilities/hello.ts',
  'package.json',
  'tsconfig.json',
  '.gitignore',
  '.quartermaster/schemas/config.schema.json',
  '.quartermaster/schemas/agent.schema.json',
]

describe('starting a project', () => {
  it('writes the configuration, a first agent, a first tool, what an editor needs, the schemas and lines for git, and nothing more', async () => {
    const project = await tempProject()
    expect(await start(project.dir)).toEqual({ created: FILES, kept: [], install: ['npm', 'install'] })
    expect((await readdir(project.dir)).sort()).toEqual([
      '.gitignore',
      '.quartermaster',
      'agents',
      'capabilities',
      'package.json',
      'quartermaster.config.json',
      'tsconfig.json',
    ])
    expect(await project.read('.gitignore')).toBe('.quartermaster/\nnode_modules/\n')
    expect(JSON.parse(await project.read('quartermaster.config.json'))).toMatchObject({
      $schema: './.quartermaster/schemas/config.schema.json',
    })
    expect(JSON.parse(await project.read('agents/default.json'))).toEqual({
      $schema: '../.quartermaster/schemas/agent.schema.json',
      capabilities: { files: { dirs: ['.'], tools: ['read_file', 'list_files', 'search_files'] } },
    })
    expect(JSON.parse(await project.read('.quartermaster/schemas/config.schema.json'))).toEqual(configJsonSchema())
    expect(JSON.parse(await project.read('.quartermaster/schemas/agent.schema.json'))).toEqual(agentJsonSchema())
  })

  it('makes a folder that does not exist yet', async () => {
    const project = await tempProject()
    expect((await start(project.path('new/one'))).created).toEqual(FILES)
  })

  it.skipIf(process.platform === 'win32')('makes a data folder that only its owner can enter', async () => {
    const project = await tempProject()
    await start(project.dir)
    expect((await stat(project.path('.quartermaster'))).mode & 0o777).toBe(0o700)
  })

  it('writes files that read without a problem', async () => {
    const project = await tempProject()
    await start(project.dir)
    const { configFile = '' } = await findProject({ from: project.dir })
    const { secrets, problems } = await readProjectConfig({
      configFile,
      dataDir: project.path('.quartermaster'),
      env: {},
    })
    const entries = await createAgentFiles({
      projectDir: project.dir,
      env: {},
      secrets,
      watch: false,
      log: silent,
    }).load()
    expect([problems, entries.map(entry => [entry.name, entry.problems])]).toEqual([[], [['default', []]]])
  })

  it('writes a first tool that works and needs nothing but us', async () => {
    const project = await tempProject()
    await start(project.dir)
    const source = await project.read('capabilities/hello.ts')
    expect(source.match(/from '([^']+)'/g)).toEqual(["from 'quartermaster'"])
    // The published name stands for the same two functions.
    const catalogue = new URL('../../core/catalogue/index.ts', import.meta.url).pathname
    const file = await project.write(
      'capabilities/hello.ts',
      source.replace("'quartermaster'", JSON.stringify(catalogue)),
    )
    const exports: Record<string, unknown> = await import(/* @vite-ignore */ pathToFileURL(file).href)
    const services = { paths: { projectDir: '', dataDir: '' }, secrets: { get: () => undefined } }
    const { capabilities, problems } = collectDefinitions(exports, services, 'hello.ts')
    expect(problems).toEqual([])
    expect(capabilities.map(capability => [capability.key, capability.tools.map(tool => tool.name)])).toEqual([
      ['hello', ['hello']],
    ])
    expect(capabilities[0]?.tools[0]?.handler({ name: 'you' } as never, {} as never)).toBe('Hello, you!')
  })

  it('keeps what is there and names it', async () => {
    const project = await tempProject({
      'agents/default.json': '{ "capabilities": {} }',
      'capabilities/hello.ts': '// mine',
    })
    const { created, kept } = await start(project.dir)
    expect(kept).toEqual(['agents/default.json', 'capabilities/hello.ts'])
    expect(created).not.toContain('agents/default.json')
    expect(await project.read('agents/default.json')).toBe('{ "capabilities": {} }')
    expect(await start(project.dir)).toMatchObject({ created: [], kept: FILES })
  })

  it('writes a package.json that names the package it was made by, and Node types of the version that is here', async () => {
    const project = await tempProject()
    await start(project.dir)
    const here = createRequire(import.meta.url)('@types/node/package.json') as { version: string }
    expect(JSON.parse(await project.read('package.json'))).toEqual({
      private: true,
      type: 'module',
      devDependencies: { '@types/node': here.version, quartermaster: 'file:/quarters/master' },
    })
  })

  it('leaves a package.json and a tsconfig.json alone, also by force, and says what to install', async () => {
    const project = await tempProject({ 'package.json': '{ "name": "mine" }', 'tsconfig.json': '{}' })
    const { kept, install } = await start(project.dir, { force: true })
    expect(kept).toEqual(['package.json', 'tsconfig.json'])
    expect(install.join(' ')).toMatch(/^npm install --save-dev file:\/quarters\/master @types\/node@[\d.]+$/)
    expect([await project.read('package.json'), await project.read('tsconfig.json')]).toEqual([
      '{ "name": "mine" }',
      '{}',
    ])
    await project.write('package.json', '{ "dependencies": { "quartermaster": "file:quartermaster-0.1.0.tgz" } }')
    expect((await start(project.dir)).install.join(' ')).toMatch(/^npm install --save-dev @types\/node@[\d.]+$/)
    await project.write('package.json', '{ "dependencies": { "quartermaster": "1.0.0", "@types/node": "^24.0.0" } }')
    expect((await start(project.dir)).install).toEqual(['npm', 'install'])
  })

  it('overwrites by force', async () => {
    const project = await tempProject({ 'agents/default.json': 'x' })
    expect((await start(project.dir, { force: true })).kept).toEqual([])
    expect(JSON.parse(await project.read('agents/default.json'))).toHaveProperty('capabilities')
  })

  it.each([
    ['node_modules/\n', 'node_modules/\n.quartermaster/\n'],
    ['node_modules/', 'node_modules/\n.quartermaster/\n'],
    ['a\r\nb\r\n', 'a\r\nb\r\n.quartermaster/\r\nnode_modules/\r\n'],
    ['.quartermaster/cache\n', '.quartermaster/cache\n.quartermaster/\nnode_modules/\n'],
    ['a\n.quartermaster/\nb\n', 'a\n.quartermaster/\nb\nnode_modules/\n'],
    ['/.quartermaster\r\n/node_modules\r\n', '/.quartermaster\r\n/node_modules\r\n'],
  ])('turns the .gitignore %j into %j, also when done twice or by force', async (before, after) => {
    const project = await tempProject({ '.gitignore': before })
    await start(project.dir)
    await start(project.dir, { force: true })
    expect(await project.read('.gitignore')).toBe(after)
  })

  it('brings the schemas up to date', async () => {
    const project = await tempProject({ '.quartermaster/schemas/agent.schema.json': '{}' })
    expect((await start(project.dir)).created).toContain('.quartermaster/schemas/agent.schema.json')
    expect(JSON.parse(await project.read('.quartermaster/schemas/agent.schema.json'))).toEqual(agentJsonSchema())
  })
})

describe('the first agent', () => {
  it('is the one that a new project begins with, alone', async () => {
    const [project, started] = [await tempProject(), await tempProject()]
    expect(await writeFirstAgent({ dir: project.dir })).toBe('default')
    await start(started.dir)
    expect(await project.read('agents/default.json')).toBe(await started.read('agents/default.json'))
    expect((await readdir(project.dir)).sort()).toEqual(['.quartermaster', 'agents'])
    expect(JSON.parse(await project.read('.quartermaster/schemas/agent.schema.json'))).toEqual(agentJsonSchema())
  })
})
