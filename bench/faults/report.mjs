// @ts-check
import { figure, never } from '../lib/figure.mjs'
import { findingsIn, recordsIn } from './evidence.mjs'
import { countOf } from './notes.mjs'

/** @typedef {import('./evidence.mjs').Findings} Findings */

/** So many of each kind are told in words. */
const TOLD = 5

/** What was found wrong over all rounds; the same thing is found again in every round after it, and counts once. */
export function createReport() {
  const found = { lost: new Set(), doubled: new Set(), half: new Set() }

  return {
    /**
     * Looks at what is on record now.
     * @param {import('./database-rows.mjs').Database} database
     * @param {import('./notes.mjs').Notes} notes
     * @param {Parameters<typeof findingsIn>[2]} [options]
     */
    async look(database, notes, options) {
      const { lost, doubled, half } = findingsIn(await recordsIn(database), notes, options)
      for (const one of lost) found.lost.add(one)
      for (const one of doubled) found.doubled.add(one)
      for (const one of half) found.half.add(one)
    },

    /**
     * @param {number} rounds
     * @param {import('./notes.mjs').Notes} notes
     */
    figures(rounds, notes) {
      for (const [kind, all] of Object.entries(found))
        for (const one of [...all].slice(0, TOLD)) console.error(`${kind}: ${one}`)
      const { messages, tasks, memories, pops } = countOf(notes)
      const refused = [...notes.refused].map(([reason, times]) => `${reason} ${times}`).join(', ')
      console.error(`Not acknowledged: ${refused === '' ? 'nothing' : refused}.`)
      return [
        figure('rounds', rounds, 'runs'),
        figure('acknowledged: messages', messages, 'things'),
        figure('acknowledged: delegations', tasks, 'things'),
        figure('acknowledged: memories', memories, 'things'),
        figure('acknowledged: taken out of an inbox', pops, 'things'),
        never('lost', found.lost.size, 'things'),
        never('doubled', found.doubled.size, 'things'),
        never('half', found.half.size, 'things'),
      ]
    },
  }
}
