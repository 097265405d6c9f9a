import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { Tool } from '../../src/core/catalogue/index.ts'
import { builtins } from '../docs/builtins.ts'
import { ROOT } from '../docs/pages.ts'

/** Words that are written as tools are and are none, with what they are. */
const OTHERS: Readonly<Record<string, string>> = {
  node_modules: 'a folder',
  add_entry: 'a tool of an example',
  build_index: 'a tool of an example',
  clear_index: 'a tool of an example',
  create_issue: 'a tool of an example',
  get_weather: 'a tool of an example',
  open_ticket: 'a tool of an example',
  roll_die: 'a tool of an example',
  send_mail: 'a tool of an example',
  send_report: 'a tool of an example',
}

/** What looks like the name of a tool: small words with underscores between them, and no id. */
const NAME = /(?<![\w./:$%#-])(?!(?:att|mem|msg|op|task|ws)_\w*\d)[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w]|[-./:=]\w)/g

let known: ReadonlySet<string>
let texts: ReadonlyMap<string, string>
beforeAll(async () => {
  const { tools } = await builtins()
  const all = [...tools.values()]
  known = new Set([...tools.keys(), ...all.flatMap(tool => wordsOf(tool.inputSchema)), ...all.flatMap(outputWords)])
  const spoken = all.map(tool => [`the tool ${tool.name}`, toldBy(tool)] as const)
  texts = new Map([
    ...spoken,
    ...pagesIn('packages/quartermaster/knowledge'),
    ...pagesIn('docs/reference'),
    ...pagesIn(GOLDENS),
  ])
})

const GOLDENS = 'packages/quartermaster/test/agreement/goldens'

it('every name in the words of tools, in pages, prompts and references is that of a tool or of one of its fields', () => {
  const stale = [...texts].flatMap(([where, text]) =>
    [...new Set(text.match(NAME))]
      .filter(name => !known.has(name) && !Object.hasOwn(OTHERS, name))
      .map(name => `${where}: ${name}`),
  )
  expect(stale).toEqual([])
})

it('no exception is stated that nothing needs', () => {
  const used = new Set([...texts.values()].flatMap(text => text.match(NAME) ?? []))
  expect(Object.keys(OTHERS).filter(name => known.has(name) || !used.has(name))).toEqual([])
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

function pagesIn(folder: string): [string, string][] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return files
    .filter(file => file.endsWith('.md'))
    .map(file => [`${folder}/${file}`, readFileSync(join(ROOT, folder, file), 'utf8')])
}
