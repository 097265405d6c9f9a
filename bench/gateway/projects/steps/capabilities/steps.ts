import { defineCapability, defineTool } from 'quartermaster'

const number = { type: 'number' } as const

const walk = defineTool({
  name: 'walk',
  short: 'Takes some steps and tells of each.',
  input: { type: 'object', properties: { steps: number }, required: ['steps'] },
  output: { type: 'object', properties: { walked: number }, required: ['walked'] },
  mutates: false,
  handler({ steps }, { progress }) {
    const total = Number(steps)
    for (let step = 1; step <= total; step++) progress({ progress: step, total, message: `Step ${step}.` })
    return { walked: total }
  },
})

export default defineCapability({ key: 'steps', short: 'Steps.', tools: [walk] })
