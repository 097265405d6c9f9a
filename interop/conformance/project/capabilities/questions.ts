import { type CallContext, defineCapability, defineTool } from 'quartermaster'
import schemas from '../parts/schemas.json' with { type: 'json' }
import { NOTHING } from '../parts/schemas.ts'

type Asked = Awaited<ReturnType<CallContext['ask']>>

const sampling = defineTool({
  name: 'test_sampling',
  short: 'Asks the client’s language model.',
  input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  mutates: false,
  async handler({ prompt }, context) {
    const messages = [{ role: 'user', content: { type: 'text', text: prompt } }] as const
    const { content } = await context.ask({ kind: 'model', messages: [...messages], maxTokens: 100 })
    return `LLM response: ${JSON.stringify(content?.content)}`
  },
})

const elicitation = defineTool({
  name: 'test_elicitation',
  short: 'Asks the person for a name and an address.',
  input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  mutates: false,
  async handler({ message }, context) {
    return `User response: ${inWords(await context.ask({ message, schema: schemas.person }))}`
  },
})

const defaults = defineTool({
  name: 'test_elicitation_sep1034_defaults',
  short: 'Asks the person, with a default for everything.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const answer = await context.ask({ message: 'Please look these over', schema: schemas.defaults })
    return `Elicitation completed: ${inWords(answer)}`
  },
})

const enums = defineTool({
  name: 'test_elicitation_sep1330_enums',
  short: 'Asks the person to choose, in every way there is.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const answer = await context.ask({ message: 'Please choose', schema: schemas.choices })
    return `Elicitation completed: ${inWords(answer)}`
  },
})

const missingCapability = defineTool({
  name: 'test_missing_capability',
  short: 'Needs a client that lends its language model.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const messages = [{ role: 'user' as const, content: { type: 'text', text: 'Are you there?' } }]
    await context.ask({ kind: 'model', messages, maxTokens: 10 })
    return 'The client has a model.'
  },
})

const streamingElicitation = defineTool({
  name: 'test_streaming_elicitation',
  short: 'Tells its progress, then asks the person.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    context.progress({ progress: 1, total: 2 })
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
    return inWords(await context.ask({ message: 'Go on?', schema }))
  },
})

function inWords({ action, content }: Asked): string {
  return `action=${action}, content=${JSON.stringify(content ?? {})}`
}

export default defineCapability({
  key: 'questions',
  short: 'Tools that ask whoever started them.',
  tools: [sampling, elicitation, defaults, enums, missingCapability, streamingElicitation],
})
