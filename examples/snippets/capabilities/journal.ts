import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineCapability, defineTool } from 'quartermaster'

const folder = join(import.meta.dirname, '..', 'journal')

const addEntry = defineTool({
  name: 'add_entry',
  short: 'Adds an entry to the journal.',
  input: {
    type: 'object',
    properties: { title: { type: 'string', pattern: '^[^\\n]+$' }, text: { type: 'string' } },
    required: ['title', 'text'],
  },
  idempotent: true,
  retry: 'verifyFirst',
  effects: [
    { name: 'page', kind: 'fileWritten', path: 'journal/{operationId}.md', contains: 'id: {operationId}' },
    { name: 'line', kind: 'lineAppended', path: 'journal/index.md', line: '- {input.title} ({operationId})' },
  ],
  async handler({ title, text }, { operationId, missingEffects }) {
    // On the first attempt nothing is missing yet, and all of it is to be done.
    const isMissing = (name: string) => missingEffects.length === 0 || missingEffects.some(one => one.name === name)
    const page = join(folder, `${operationId}.md`)
    await mkdir(dirname(page), { recursive: true })
    if (isMissing('page')) await writeFile(page, `id: ${operationId}\n\n# ${title}\n\n${text}\n`)
    if (isMissing('line')) await appendFile(join(folder, 'index.md'), `- ${title} (${operationId})\n`)
    return `"${title}" is in the journal.`
  },
})

export default defineCapability({ key: 'journal', short: 'Keeps a journal.', tools: [addEntry] })
