import { setTimeout as wait } from 'node:timers/promises'
import { defineCapability, defineTool, toolFailure } from 'quartermaster'

const build = defineTool({
  name: 'build_index',
  short: 'Builds the index of so many pages.',
  input: { type: 'object', properties: { pages: { type: 'integer', minimum: 1 } }, required: ['pages'] },
  asTask: 'whenPossible',
  timeoutMs: 600_000,
  async handler({ pages }, { signal, progress }) {
    for (let page = 1; page <= pages; page++) {
      await wait(50, undefined, { signal })
      progress({ progress: page, total: pages, message: `Page ${page}` })
    }
    return `${pages} pages are in the index.`
  },
})

const clear = defineTool({
  name: 'clear_index',
  short: 'Empties the index, if the person who is asked agrees.',
  input: { type: 'object', properties: {}, additionalProperties: false },
  idempotent: true,
  async handler(_input, { ask }) {
    const { action, content } = await ask({
      message: 'Empty the whole index?',
      schema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    })
    if (action !== 'accept' || content?.sure !== true) return toolFailure('Nothing was deleted.')
    return 'The index is empty.'
  },
})

export default defineCapability({ key: 'index-of-pages', short: 'An index of pages.', tools: [build, clear] })
