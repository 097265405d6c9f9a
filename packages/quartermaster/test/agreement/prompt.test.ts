import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createQuartermaster, type Quartermaster } from '../../src/index.ts'
import { type PromptOptions, renderPrompt } from '../../src/prompt.ts'
import { golden } from '../../src/testing/golden.ts'
import { readPages } from '../docs/pages.ts'
import { quartermaster, writeFiles } from '../support/product.ts'
import { oldNamesIn } from './old-names.ts'

/** Has a tool that does not work, and words that would make headings. */
const WEATHER = `
  import { defineCapability, defineDependency, defineTool } from 'quartermaster'
  import { environment } from 'quartermaster/probes'
  const key = defineDependency({ name: 'weather-key', probe: environment({ name: 'WEATHER_KEY' }) })
  const input = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const tool = more => defineTool({ input, mutates: false, requires: ['weather-key'], handler: () => 'rain', ...more })
  export default defineCapability({
    key: 'weather', title: 'Weather', short: 'Tells the weather.', dependencies: [key],
    tools: [
      tool({ name: 'forecast', short: 'Tells what the weather\\nwill be.', whenToUse: '# Always\\r\\nBefore somebody goes out.\\n~~~\\n# rain\\n~~~\\n\`\`\`\\n# snow' }),
      tool({ name: 'climate', short: 'Tells what the weather was.', command: { none: 'It is only here to have none.' } }),
    ],
  })
`

const EVERYTHING = {
  delegation: {},
  files: { dirs: ['./files'] },
  history: {},
  inbox: {},
  memory: {},
  notes: { vault: './vault' },
  registry: {},
  user: {},
  weather: {},
}

let dir: string
let host: Quartermaster
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'prompt-'))
  await writeFiles(dir, {
    'quartermaster.config.json': '{}',
    'capabilities/weather.ts': WEATHER,
    'agents/worker.json': JSON.stringify({ capabilities: EVERYTHING, view: 'direct' }),
    'agents/keeper.json': JSON.stringify({ capabilities: EVERYTHING, view: 'gateway' }),
    'files/a.txt': 'a',
    'vault/a.md': '# a',
    'knowledge/umbrellas.md': '---\nkind: concept\ntitle: Umbrellas\nsummary: Where they are.\n---\nAt the door.\n',
  })
  host = await createQuartermaster({ dir, env: {} })
  return async () => {
    await host.stop()
    await rm(dir, { recursive: true, force: true })
  }
})

const promptOf = (agent: string, options?: PromptOptions) => renderPrompt(host.toolbox(agent), options)

/** Every tool that can be granted; automatically granted tools are not among them. */
const given = () => host.knownCapabilities().flatMap(({ tools }) => tools.map(({ name }) => name))

describe('the prompt of an agent', () => {
  it('every tool is in the prompt, with what it does and when to use it', async () => {
    const { text, tools } = await promptOf('worker')
    expect(tools).toEqual(expect.arrayContaining(given()))
    const builtin = host.tools().filter(({ source, capability }) => source === 'builtin' && capability in EVERYTHING)
    for (const { name, short } of builtin) {
      expect(text).toContain(`\n- \`${name}\`: ${short}\n`)
      expect(text).toContain(`\n### \`${name}\`\n\n${host.tool(name).whenToUse}\n`)
    }
    expect(new Set(tools).size).toBe(tools.length)
  })

  it('has every tool in the gateway view as well, and explains those that lead to them', async () => {
    const { text, tools } = await promptOf('keeper')
    const listed = await host.toolbox('keeper').tools()
    expect(tools).toEqual(expect.arrayContaining([...given(), ...listed.map(({ name }) => name)]))
    const explained = [...text.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name)
    expect(explained.sort()).toEqual(listed.map(({ name }) => name).sort())
  })

  it('ends every section with a rule: which of its tools change something', async () => {
    const { text } = await promptOf('worker')
    const sections = text.split(/^## /m).slice(1)
    const rules = sections.map(section => section.trim().split('\n').at(-1) ?? '')
    expect(rules.filter(rule => !/ only reads?\b| changes? something/.test(rule))).toEqual([])
    expect(rules[1]).toMatch(/^`write_file` changes something; the others only read\. A call of `write_file` may /)
    expect(text).toContain('\n## Docs and Status\n\n- `read_docs`: ')
  })

  it('marks what is disabled with the reason, or leaves it out', async () => {
    const marked = await promptOf('worker')
    expect(marked.text).toContain('- `climate`: Tells what the weather was. (Disabled now. weather-key is down: ')
    const { text, tools } = await promptOf('worker', { withoutDisabled: true })
    expect(tools).not.toContain('climate')
    expect(text).not.toMatch(/climate|Weather|Disabled/)
  })

  it('keeps its form, whatever the words of a tool are', async () => {
    const { text } = await promptOf('worker')
    expect(text).toContain('- `forecast`: Tells what the weather will be. (')
    expect(text).toContain(
      '### `forecast`\n\n\\# Always\nBefore somebody goes out.\n~~~\n# rain\n~~~\n```\n# snow\n```\n\n',
    )
    expect(text).not.toMatch(/\r|[ \t]\n|\n\n\n/)
    expect(text.endsWith('\n')).toBe(true)
  })

  it('says so where there is nothing', async () => {
    const view = { agent: 'nobody', view: 'direct' as const, capabilities: [], sections: [], tools: [] }
    expect(await renderPrompt({ view: async () => view })).toMatchObject({
      text: '# Your tools\n\nYou are "nobody". You have no tools here.\n',
      tools: [],
    })
  })

  it('says about how many tokens it has', async () => {
    const { text, estimatedTokens } = await promptOf('worker')
    expect(estimatedTokens).toBeGreaterThan(text.length / 6)
    expect(estimatedTokens).toBeLessThan(text.length / 3)
  })
})

describe('the shell block of an agent', () => {
  it('every command stands in the shell block as it is typed, and every other tool by its name', async () => {
    const { text, tools } = await promptOf('worker', { shell: true })
    const { tools: viewed } = await host.toolbox('worker').view()
    expect(tools).toEqual(expect.arrayContaining(given()))
    for (const { name, shell, noCommand } of viewed) {
      expect(shell).toMatch(noCommand === undefined ? /^do [a-z]/ : new RegExp(`^call ${name}( |$)`))
      expect(text).toContain(`\n- \`quartermaster ${shell}\` (\`${name}\`): `)
    }
  })

  it('is the same behind the gateway view, where commands need nothing that leads to them', async () => {
    const { tools } = await promptOf('worker', { shell: true })
    expect(tools).toContain('read_docs')
    expect((await promptOf('keeper', { shell: true })).tools.sort()).toEqual([...tools].sort())
  })
})

it('old names are absent from prompts and pages', async () => {
  const prompts = await Promise.all([promptOf('worker'), promptOf('worker', { shell: true }), promptOf('keeper')])
  const pages = readPages().map(({ file, text }) => ({ file, old: oldNamesIn(text) }))
  expect(prompts.flatMap(({ text }) => oldNamesIn(text))).toEqual([])
  expect(pages.filter(({ old }) => old.length > 0)).toEqual([])
})

it.each([
  ['prompt.md', 'worker', {}],
  ['shell.md', 'worker', { shell: true }],
  ['gateway.md', 'keeper', {}],
] as const)('the file %s is what is rendered (golden)', async (file, agent, options) => {
  const { text } = await promptOf(agent, options)
  expect(text).toBe(golden(new URL(`goldens/${file}`, import.meta.url), text))
})

describe('quartermaster prompt', () => {
  it('prints the block alone, and beside it about how many tokens it has', async () => {
    const { code, stdout, stderr } = await quartermaster(['prompt', 'worker', '--shell'], { cwd: dir })
    const { text, tools, estimatedTokens } = await promptOf('worker', { shell: true })
    expect([code, stdout]).toEqual([0, text])
    expect(stderr).toContain(`${tools.length} tools, about ${estimatedTokens.toLocaleString('en')} tokens (estimated`)
  })

  it('prints all of it as JSON, and lists the agents when none has the name', async () => {
    const made = await quartermaster(['prompt', 'keeper', '--without-disabled', '--json'], { cwd: dir })
    expect(made.json()).toEqual(await promptOf('keeper', { withoutDisabled: true }))
    const { code, stderr } = await quartermaster(['prompt', 'wroker'], { cwd: dir })
    expect([code, stderr]).toEqual([4, expect.stringContaining('worker')])
  })
})
