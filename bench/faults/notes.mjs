// @ts-check

/**
 * What one client has asked for under one text, and what it was told.
 * @typedef {object} Asked
 * @property {string} path
 * @property {object} body
 * @property {import('../lib/api-client.mjs').ApiClient} client
 * @property {Set<string>} ids what it was answered that it is called
 * @property {boolean} isKeyed
 * @property {string} [answers] the message that is acknowledged with it
 */

/**
 * What all clients have seen, kept over the death of whatever they talk to.
 * @typedef {ReturnType<typeof createNotes>} Notes
 */

export function createNotes() {
  return {
    /** @type {Map<string, Asked>} by their text */
    messages: new Map(),
    /** @type {Map<string, Asked>} by what is to be done */
    tasks: new Map(),
    /** @type {Map<string, Asked>} by what they say */
    memories: new Map(),
    /** @type {Map<string, number>} messages that were taken out of an inbox, and when that was answered */
    acknowledged: new Map(),
    /** @type {Set<string>} messages that somebody has tried to take out */
    tried: new Set(),
    /** @type {Map<string, { reader: string, askedAt: number }>} who was handed a message last */
    handed: new Map(),
    /** @type {string[]} what was lost, as far as a client can see it */
    lost: [],
    /** @type {string[]} what was there twice, as far as a client can see it */
    doubled: [],
    /** @type {Map<string, number>} what was refused, by its reason */
    refused: new Map(),
  }
}

/** How many things were acknowledged. @param {Notes} notes */
export function countOf({ messages, tasks, memories, acknowledged }) {
  const answered = (/** @type {Map<string, Asked>} */ all) => [...all.values()].filter(({ ids }) => ids.size > 0).length
  return {
    messages: answered(messages),
    tasks: answered(tasks),
    memories: answered(memories),
    pops: acknowledged.size,
  }
}

/**
 * @param {Notes} notes
 * @param {import('../lib/api-client.mjs').Answer} answer
 */
export function noteRefusal({ refused }, { status, body, failure }) {
  const reason = failure ?? body?.code ?? String(status)
  refused.set(reason, (refused.get(reason) ?? 0) + 1)
}
