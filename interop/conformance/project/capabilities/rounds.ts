import { type CallContext, defineCapability, defineTool, isAppError } from 'quartermaster'
import { NOTHING, oneText } from '../parts/schemas.ts'

const PREFIX = 'test_input_required_result'
const CONFIRM = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }

const elicitation = defineTool({
  name: `${PREFIX}_elicitation`,
  short: 'Asks the person for a name.',
  input: NOTHING,
  mutates: false,
  handler: async (_input, context) => `Hello, ${await askName(context)}!`,
})

const sampling = defineTool({
  name: `${PREFIX}_sampling`,
  short: 'Asks the client’s language model for a capital.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const text = 'What is the capital of France?'
    return askModel(context, { key: 'capital_question', text, maxTokens: 100 })
  },
})

const listRoots = defineTool({
  name: `${PREFIX}_list_roots`,
  short: 'Asks for the folders the client works in.',
  input: NOTHING,
  mutates: false,
  handler: async (_input, context) => `Roots: ${await askRoots(context)}`,
})

const requestState = defineTool({
  name: `${PREFIX}_request_state`,
  short: 'Asks for a confirmation and knows the call again afterwards.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const { operationId } = context
    await context.ask({ key: 'confirm', message: 'Please confirm', schema: CONFIRM })
    return operationId === context.operationId ? 'state-ok' : 'this is another call'
  },
})

const multipleInputs = defineTool({
  name: `${PREFIX}_multiple_inputs`,
  short: 'Asks the person, the model and for folders, all at once.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const [name, greeting, roots] = await Promise.all([
      askName(context),
      askModel(context, { key: 'greeting', text: 'Generate a greeting', maxTokens: 50 }),
      askRoots(context),
    ])
    return `${greeting} ${name}, who works in ${roots}`
  },
})

const multiRound = defineTool({
  name: `${PREFIX}_multi_round`,
  short: 'Asks for a name, and then for a colour.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    const name = await askText(context, { key: 'step1', message: 'Step 1: What is your name?', field: 'name' })
    const message = 'Step 2: What is your favorite color?'
    return `${name} likes ${await askText(context, { key: 'step2', message, field: 'color' })}.`
  },
})

const tamperedState = defineTool({
  name: `${PREFIX}_tampered_state`,
  short: 'Asks for a confirmation that nobody else can give.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    await context.ask({ key: 'confirm', message: 'Please confirm', schema: CONFIRM })
    return 'confirmed'
  },
})

const capabilities = defineTool({
  name: `${PREFIX}_capabilities`,
  short: 'Asks the person where it can, and otherwise the model.',
  input: NOTHING,
  mutates: false,
  async handler(_input, context) {
    try {
      return await askName(context)
    } catch (error) {
      if (!isAppError(error) || error.code !== 'ANSWER_UNAVAILABLE') throw error
      return askModel(context, { key: 'guess', text: 'Guess a name', maxTokens: 10 })
    }
  },
})

function askName(context: CallContext): Promise<string> {
  return askText(context, { key: 'user_name', message: 'What is your name?', field: 'name' })
}

async function askText(
  context: CallContext,
  { key, message, field }: { key: string; message: string; field: string },
): Promise<string> {
  const { content } = await context.ask({ key, message, schema: oneText(field) })
  return String(content?.[field] ?? 'somebody')
}

async function askModel(
  context: CallContext,
  { key, text, maxTokens }: { key: string; text: string; maxTokens: number },
): Promise<string> {
  const messages = [{ role: 'user' as const, content: { type: 'text', text } }]
  const { content } = await context.ask({ kind: 'model', key, messages, maxTokens })
  return JSON.stringify(content?.content)
}

async function askRoots(context: CallContext): Promise<string> {
  const { content } = await context.ask({ kind: 'roots', key: 'client_roots' })
  return JSON.stringify(content?.roots)
}

export default defineCapability({
  key: 'rounds',
  short: 'Tools that ask within the call, round by round.',
  tools: [elicitation, sampling, listRoots, requestState, multipleInputs, multiRound, tamperedState, capabilities],
})
