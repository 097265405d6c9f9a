import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { Tool } from '../../src/core/catalogue/index.ts'
import { builtins } from '../docs/builtins.ts'
import { ROOT } from '../docs/pages.ts'

/** Words that are written as tools are and are none of ours, by what they are. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'a tool of an example or of somebody else': [
    'add_entry',
    'add_json',
    'add_recorded',
    'add_to_diary',
    'add_zod',
    'adder_add',
    'build_index',
    'call_before_slack_search',
    'cancel_print',
    'check_password',
    'clear_index',
    'create_issue',
    'delete_repository',
    'file_bug',
    'get_issue',
    'get_weather',
    'github_search',
    'keep_allowed',
    'keep_verified',
    'open_ticket',
    'plot_chart',
    'report_back',
    'roll_die',
    'send_letter',
    'send_mail',
    'send_report',
    'warm_up',
    'weather_get_weather',
    'write_down',
  ],
  'a word of MCP, A2A, OpenAI, LangChain or a trace': [
    'call_1',
    'call_id',
    'execute_tool',
    'function_call',
    'function_call_output',
    'input_required',
    'tool_call',
  ],
  'a word of OAuth': ['invalid_grant', 'server_error', 'slow_down', 'temporarily_unavailable'],
  'a setting of a program that is not ours': [
    'job_name',
    'scrape_configs',
    'search_path',
    'static_configs',
    'synchronous_commit',
  ],
  'a field of data that a measurement reads': ['dia_id', 'session_1', 'session_1_date_time'],
  'an id that is made up': [
    'att_mwi',
    'm1_in',
    'm1_out',
    'm2_in',
    'm2_out',
    'm3_in',
    'm3_out',
    'm4_out',
    'm9_in',
    'shelf_0',
  ],
  'a parameter of an address': ['case_sensitive'],
  'what a bridge to several workspaces adds': ['arrival_workspace_id', 'company_read_file', 'via_workspace'],
  'a control token of chat templates': ['im_start'],
  'a folder': ['node_modules'],
}
const EXCEPTIONS: ReadonlySet<string> = new Set(Object.values(OTHERS).flat())

/** What is measured has a page of its own that is held against it. */
const METRIC = /^(quartermaster|process|nodejs)_/

/** What looks like the name of a tool: small words with underscores between them, and no id. */
const NAME = /(?<![\w./:$%#-])(?!(?:att|mem|msg|op|task|ws)_\w*\d)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w]|[-./:=]\w)/g

/** In code a name stands alone between quotes; all else that looks like one is a field or a column. */
const QUOTED = /(?<=(['"`]))[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?=\1)/g

let known: ReadonlySet<string>
/** The names that stand in a place, by the place. */
let found: ReadonlyMap<string, ReadonlySet<string>>
beforeAll(async () => {
  const { tools } = await builtins()
  const all = [...tools.values()]
  known = new Set([...tools.keys(), ...all.flatMap(tool => wordsOf(tool.inputSchema)), ...all.flatMap(outputWords)])
  const spoken = all.map(tool => [`the tool ${tool.name}`, toldBy(tool)] as const)
  const pages = [
    ...spoken,
    ...filesIn('packages/quartermaster/knowledge', /\.md$/),
    ...filesIn(GOLDENS, /\.md$/),
    // Decisions and the log of changes tell of what was, by the names it had.
    ...filesIn('docs', /^(?!decisions\b).*\.md$/),
    ...filesIn('examples', /\.md$/),
    ...filesIn('bench', /\.md$/),
    ...['README.md', 'packages/quartermaster/README.md'].map(read),
  ]
  const code = [...filesIn('examples', CODE), ...filesIn('bench', CODE)]
  found = new Map([
    ...pages.map(([where, text]) => [where, namesIn(text, NAME)] as const),
    ...code.map(([where, text]) => [where, namesIn(text, QUOTED)] as const),
  ])
})

const GOLDENS = 'packages/quartermaster/test/agreement/goldens'

const CODE = /\.(mjs|js|ts)$/

function namesIn(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set(text.match(pattern)?.filter(name => !METRIC.test(name)))
}

it('every name in the words of tools, in pages, prompts, examples and measurements is that of a tool or of one of its fields', () => {
  const stale = [...found].flatMap(([where, names]) =>
    [...names].filter(name => !known.has(name) && !EXCEPTIONS.has(name)).map(name => `${where}: ${name}`),
  )
  expect(stale).toEqual([])
})

it('no exception is stated that nothing needs', () => {
  const used = new Set([...found.values()].flatMap(names => [...names]))
  expect([...EXCEPTIONS].filter(name => known.has(name) || !used.has(name))).toEqual([])
})

/** All that a model or a person reads of it. */
function toldBy({ short, whenToUse, inputSchema, outputSchema }: Tool): string {
  return [short, whenToUse, ...descriptionsIn(inputSchema), ...descriptionsIn(outputSchema)].join('\n')
}

function descriptionsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'description' in schema && typeof schema.description === 'string' ? [schema.description] : []
  return [...own, ...Object.values(schema).flatMap(descriptionsIn)]
}

const outputWords = ({ outputSchema }: Tool) => wordsOf(outputSchema)

/** The names of its fields and the words that may stand in them. */
function wordsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, enum: words = [], const: word } = schema as Record<string, object | undefined>
  const own = [...Object.keys(properties ?? {}), ...Object.values(words ?? {}), word].filter(
    one => typeof one === 'string',
  )
  return [...own, ...Object.values(schema).flatMap(wordsOf)]
}

function filesIn(folder: string, wanted: RegExp): (readonly [string, string])[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return files
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => wanted.test(file) && !file.includes('node_modules/'))
    .map(file => read(`${folder}/${file}`))
}

function read(file: string): readonly [string, string] {
  return [file, readFileSync(join(ROOT, file), 'utf8')]
}
