import { DOCS_META, type DocEntry, type DocsAnswer, DocsQuestion, TOOL_NAMES } from '../../contracts/index.ts'
import type { GatewayConfig } from '../../core/agents/index.ts'
import { type CallContext, defineTool, toolFailure, toolResult } from '../../core/catalogue/index.ts'
import { agentReader } from '../../core/knowledge/index.ts'
import { line } from './granted.ts'

const TEXT_CHARACTERS = 400

/** The tool that reads the knowledge of the project and the reference pages of tools. */
export function createReadDocs() {
  return defineTool({
    name: TOOL_NAMES.docs,
    title: 'Read the docs',
    short:
      'Reads the documentation: how things are done in this project, and reference pages of the tools you were given.',
    whenToUse:
      'Before work that others may have written directions or notes for, and to read about a tool rather than call it at once. ' +
      'Comes back with Markdown: one page by path, the best fitting for a query, or a list of all there is. ' +
      'Tools and capabilities work unless they are marked as disabled. ' +
      'For tools to call use find_tools; for the exact JSON Schema of their arguments describe_tool.',
    section: 'gateway',
    command: { none: 'On the command line: quartermaster docs.' },
    input: DocsQuestion,
    examples: [
      { query: 'how do we release?', input: { query: 'how to release a version' } },
      { query: 'how does read_file work?', input: { path: 'read_file' } },
      { query: 'what is there to read?', input: {} },
      { query: 'which directions are there?', input: { kind: 'directions', depth: 'summary' } },
    ],
    mutates: false,
    async handler(question, { config }: CallContext<GatewayConfig>) {
      const { docs, generation } = config
      const answer = await docs.answer(question, { generation, reader: agentReader(config) })
      if (answer.entries.length === 0)
        return toolFailure('Nothing fits. Use other words, or nothing at all to see what there is.')
      const { text, ...facts } = answer
      const words = text === undefined ? [listText(answer)] : [text, ...remark(answer)]
      const content = words.map(word => ({ type: 'text' as const, text: word }))
      return toolResult({ content, _meta: { [DOCS_META]: facts } })
    },
  })
}

/** Kept apart from the page, whose text is passed on unchanged. */
function remark({ nextOffset, nextCursor }: DocsAnswer): string[] {
  if (nextOffset !== undefined) return [`[Cut here: call again with offset ${nextOffset} for what follows.]`]
  return nextCursor === undefined ? [] : [more(nextCursor)]
}

function listText({ entries, total, nextCursor }: DocsAnswer): string {
  const head = total === undefined ? [] : [`${total} ${total === 1 ? 'entry' : 'entries'}:`]
  const foot = nextCursor === undefined ? [] : [more(nextCursor)]
  return [...head, ...entries.map(entryText), ...foot].join('\n')
}

const more = (cursor: string) => `[More: call again with cursor "${cursor}".]`

/** Each field is cut and on one line, so that no text looks like another entry or crowds out the others. */
function entryText({ path, kind, title, state, reason, summary, whenToUse, command, tools, tags }: DocEntry): string {
  const note = reason === undefined ? '' : ` ${line(reason, TEXT_CHARACTERS)}`
  const stated = state === 'disabled' ? ` [disabled:${note}]` : note && ` [${note.trim()}]`
  const facts = [
    summary && line(summary, TEXT_CHARACTERS),
    whenToUse && `When to use it: ${line(whenToUse, TEXT_CHARACTERS)}`,
    command && `Command: /${command}`,
    tools && `Tools: ${line(tools.join(', '), TEXT_CHARACTERS)}`,
    tags && `Tags: ${line(tags.join(', '), TEXT_CHARACTERS)}`,
  ]
  const below = facts.filter(fact => fact !== undefined && fact !== '').map(fact => `\n  ${fact}`)
  return `- ${path} (${kind}): ${line(title, TEXT_CHARACTERS)}${stated}${below.join('')}`
}
