// @ts-check
import { AppError, defineCapability, defineDependency, defineTool } from 'quartermaster'

/** Something outside that can be switched on and off, in place of a real printer. */
export const printer = { isOn: true }

const print = defineTool({
  name: 'print',
  short: 'Prints a text on paper.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
  requires: ['printer'],
  handler({ text }, { progress }) {
    if (!printer.isOn) throw unavailable()
    progress({ progress: 1, total: 1, message: 'printed' })
    return `Printed ${text.length} characters.`
  },
})

const cancel = defineTool({
  name: 'cancel_print',
  short: 'Stops what is being printed.',
  input: { type: 'object' },
  requires: ['printer'],
  handler: () => 'Stopped.',
})

/** A capability of the host program. */
export const printing = defineCapability({
  key: 'printing',
  short: 'Paper.',
  dependencies: [
    defineDependency({
      name: 'printer',
      probe: () => (printer.isOn ? { up: true } : { up: false, reason: 'It is switched off.' }),
      recoveringMs: 0,
      fix: 'Switch it on.',
    }),
  ],
  tools: [print, cancel],
})

/** A failure that names its dependency tells Quartermaster to look at it. */
function unavailable() {
  return new AppError('DEPENDENCY_UNAVAILABLE', 'The printer does not answer.', { details: { dependency: 'printer' } })
}
