import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonSchema } from '../../src/contracts/index.ts'
import { type Generation, type Tool, titleFrom } from '../../src/core/catalogue/index.ts'
import { commandUsage } from '../../src/core/kernel/index.ts'
import { capabilityEntry, capabilityPath } from '../../src/core/knowledge/entry.ts'
import { schemaTable, toolPage } from '../../src/core/knowledge/index.ts'
import { libraryOf, type Reader } from '../../src/core/knowledge/library.ts'
import { pageOf } from '../../src/core/knowledge/page.ts'
import { ROOT } from './pages.ts'

export const FOLDER = 'docs/reference/tools'
const MARK = '<!-- made from the definitions; npm run golden writes it anew -->'

/** What there is, by the names of the files. */
export function toolPages({ capabilities, injections }: Generation): ReadonlyMap<string, string> {
  const injected = injections.map(({ injection: { key, short }, tools }) => ({
    key,
    title: titleFrom(key),
    short,
    tools,
    comesByItself: true,
  }))
  const bundles = [...capabilities.values(), ...injected].filter(({ tools }) => tools.length > 0)
  const tools = bundles.flatMap(bundle => bundle.tools)
  return new Map([
    ['README.md', `# Tools\n\n${MARK}\n\n${WORDS}\n\n${bundles.map(bundleSection).join('\n\n')}\n`],
    ...tools.map(tool => [`${tool.name}.md`, `${MARK}\n\n${toolPage(tool)}`] as const),
  ])
}

const WORDS = `Every capability that comes with Quartermaster and its tools, as their definitions have them. The page of a tool is what agents
read with \`read_docs\` and at \`quartermaster://tools/NAME\`.`

interface Bundle extends Pick<Tool, 'title' | 'short'> {
  readonly key: string
  readonly tools: readonly Tool[]
  readonly configSchema?: JsonSchema | undefined
  /** Comes with a view: it cannot be granted, and has no page. */
  readonly comesByItself?: boolean
}

function bundleSection({ key, title, short, tools, configSchema, comesByItself }: Bundle): string {
  const page = [`../${key}.md`, `../../${key}-view.md`].find(file => existsSync(join(ROOT, FOLDER, file)))
  const own = comesByItself ? '' : ` Its page: [\`capability:${key}\`](../capabilities/${key}.md).`
  const more = `${own}${page === undefined ? '' : ` More: [${title}](${page}).`}`
  const rows = tools.map(tool => `| [\`${tool.name}\`](${tool.name}.md) | ${cell(tool.short)} | ${commandCell(tool)} |`)
  const config = configSchema?.properties ? [`\nIts configuration:\n\n${schemaTable(configSchema)}`] : []
  return [
    `## ${title}\n\n${short}${more}\n`,
    '| tool | what it does | command |',
    '|---|---|---|',
    ...rows,
    ...config,
  ].join('\n')
}

function commandCell(tool: Tool): string {
  const { name, flag } = commandUsage(tool) ?? {}
  return name === undefined ? '' : `\`${flag === undefined ? name : `${name} --${flag}`}\``
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

export const CAPABILITIES_FOLDER = 'docs/reference/capabilities'

/** The page of every capability, as the owner reads it with `quartermaster docs capability:NAME`. */
export function capabilityPages(generation: Generation): ReadonlyMap<string, string> {
  const library = libraryOf(generation)
  const reader: Reader = { isOwner: true, sees: () => true, stateOf: () => undefined, toolsOf: ({ tools }) => tools }
  const pages = [...generation.capabilities.values()].map(capability => {
    const entry = library.entries.get(capabilityPath(capability.key)) ?? capabilityEntry(capability)
    const page = pageOf(entry, { library, reader })
    const linked = page.replaceAll(/^- `tool:(\w+)`/gm, '- [`tool:$1`](../tools/$1.md)')
    return [`${capability.key}.md`, `${MARK}\n\n${linked}`] as const
  })
  return new Map(pages)
}
