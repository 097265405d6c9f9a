import { spawn } from 'node:child_process'
import { cp, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

// The examples run as their readers run them: as programs, on the built package.

const HERE = fileURLToPath(new URL('.', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../packages/quartermaster/dist/bin/quartermaster.js', import.meta.url))

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Runs Node until it ends; answers its exit code and all it printed. */
function node(args: readonly string[], cwd: string): Promise<Ended> {
  return ended(spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }))
}

function ended(child: ReturnType<typeof spawn>): Promise<Ended> {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', text => (output += text))
  return new Promise(resolve => child.once('close', code => resolve({ code, output })))
}

/** A copy of an example, without what a person who tried it left behind. */
async function copyOf(example: string): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'example-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const isSource = (path: string) => !/[\\/](\.quartermaster|weather\.json)$/.test(path)
  await cp(join(HERE, example), base, { recursive: true, filter: isSource })
  return base
}

/** Starts `up` and resolves when it is ready. */
async function up(dir: string) {
  const child = spawn(process.execPath, [PROGRAM, 'up', '--port', '0', '--json'], { cwd: dir })
  const end = ended(child)
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await end
  })
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', resolve)
    end.then(({ output }) => reject(new Error(output)))
  })
  return JSON.parse(line) as { url: string; version: string }
}

describe('examples/hello', () => {
  it('runs, says why its tool is disabled, and recovers on the next call', async () => {
    const dir = await copyOf('hello')
    const { url } = await up(dir)
    expect(await (await fetch(`${url}/ready`)).json()).toEqual({ status: 'ready' })
    const listed = await node([PROGRAM, 'tools', '--section', 'weather'], dir)
    expect(listed.output).toContain(`There is no file or folder at "${join(dir, 'weather.json')}".`)
    await writeFile(join(dir, 'weather.json'), '{ "Oslo": "4 °C, rain" }')
    const called = await node([PROGRAM, 'call', 'get_weather', 'city=Oslo'], dir)
    expect(called).toMatchObject({ code: 0, output: expect.stringMatching(/^4 °C, rain\n?$/) })
  })

  it('has nothing wrong with its files', async () => {
    const dir = await copyOf('hello')
    await writeFile(join(dir, 'weather.json'), '{}')
    const { code, output } = await node([PROGRAM, 'doctor'], dir)
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('All is well.') })
  })
})

describe('examples/library', () => {
  it('holds', async () => {
    expect(await node(['main.mjs'], join(HERE, 'library'))).toEqual({ code: 0, output: 'All of it holds.\n' })
  })
})

describe('examples/declarations', () => {
  it('holds', async () => {
    expect(await node(['main.mjs'], join(HERE, 'declarations'))).toEqual({ code: 0, output: 'All of it holds.\n' })
  })
})

describe('examples/snippets', () => {
  it('define what the pages say', async () => {
    const dir = await copyOf('snippets')
    const { output } = await node([PROGRAM, 'status', '--json'], dir)
    const { problems, dependencies } = JSON.parse(output) as { problems: unknown[]; dependencies: { name: string }[] }
    expect(problems).toEqual([])
    expect(dependencies.map(dependency => dependency.name).sort()).toEqual([
      'api-key',
      'database',
      'git',
      'mail-password',
      'memory',
      'mirror',
      'region',
      'reports',
      'search',
    ])
  })

  it('bring prompts and resources as the pages say', async () => {
    const dir = await copyOf('snippets')
    const { output } = await node([PROGRAM, 'capabilities', 'handbook', '--json'], dir)
    expect(JSON.parse(output)).toMatchObject({
      prompts: [{ name: 'explain', arguments: [{ name: 'page', required: true }, { name: 'reader' }] }],
      resources: [{ uri: 'handbook://contents' }, { uriTemplate: 'handbook://{page}' }],
    })
  })

  it('hand out tools as the pages say', async () => {
    const dir = await copyOf('hello')
    await writeFile(join(dir, 'agents/default.json'), '{ "capabilities": { "maths": {} } }')
    const { code, output } = await node([join(HERE, 'snippets/toolbox.mjs')], dir)
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("name: 'add',") })
    expect(output).toContain("[ { type: 'function_call_output', call_id: 'call_1', output: '5' } ]")
  })

  it('write a prompt as the pages say', async () => {
    const { code, output } = await node([join(HERE, 'snippets/prompt.mjs')], await copyOf('hello'))
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^# Your tools\n[^]*\nabout \d+ tokens\n$/),
    })
  })

  it('use the library as the pages say', async () => {
    const { code, output } = await node(['library.mjs'], join(HERE, 'snippets'))
    expect({ code, output }).toEqual({
      code: 0,
      output: "[ 'clock' ] [ { capability: 'clock', tool: 'now', state: 'granted' } ]\n",
    })
  })
})
