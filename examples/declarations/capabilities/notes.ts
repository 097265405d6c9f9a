import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { registerOp } from 'quartermaster'

const project = join(import.meta.dirname, '..')

export const append = registerOp('op.notes.append', {
  short: 'Adds a line to a file of notes.',
  settings: {
    type: 'object',
    properties: { file: { type: 'string', pattern: '^[a-z]+\\.txt$' } },
    required: ['file'],
    additionalProperties: false,
  },
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 500, description: 'The line.' },
      mood: { type: 'string', enum: ['glad', 'calm', 'sad'], description: 'How it felt.' },
    },
    required: ['text'],
  },
  idempotent: false,
  async handler({ text, mood }, { settings }) {
    await appendFile(join(project, settings.file), `${text}${mood ? ` (${mood})` : ''}\n`)
    return `Added to ${settings.file}.`
  },
})
