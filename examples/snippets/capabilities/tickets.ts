import { defineCapability, defineEffect, defineTool } from 'quartermaster'

/** A tracker, in short: the id of every open ticket, by the key it was opened under. */
const open = new Map<string, number>()

const ticketOpened = defineEffect({
  kind: 'ticketOpened',
  fields: ['key'],
  look({ key }) {
    const id = open.get(String(key))
    return id === undefined
      ? { seen: 'absent', reason: 'The tracker has no such ticket.' }
      : { seen: 'there', mark: `${id}` }
  },
})

const openTicket = defineTool({
  name: 'open_ticket',
  short: 'Opens a ticket.',
  input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
  idempotent: true,
  retry: 'verifyFirst',
  effects: [{ name: 'ticket', kind: 'ticketOpened', key: '{operationId}' }],
  handler({ title }, { operationId }) {
    const id = open.get(operationId) ?? open.size + 1
    open.set(operationId, id)
    return `Ticket ${id} is open: ${title}.`
  },
})

export default defineCapability({
  key: 'tickets',
  short: 'Opens tickets.',
  tools: [openTicket],
  effectKinds: [ticketOpened],
})
