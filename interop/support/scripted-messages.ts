import { type Dialect, sendEvents, sendJson, startModel } from './model-server.ts'
import type { Script, ScriptedModel, Step, Turn } from './script.ts'

interface Block {
  readonly type: string
  readonly text?: string
  readonly content?: string | readonly Block[]
}

interface Request {
  readonly model: string
  readonly stream?: boolean
  readonly tools?: readonly { readonly name: string }[]
  readonly messages: readonly { readonly content: string | readonly Block[] }[]
}

/** A model that speaks Anthropic's Messages. */
export function startScriptedMessages(script: Script): Promise<ScriptedModel> {
  return startModel(MESSAGES, script)
}

const MESSAGES: Dialect<Request> = {
  path: '/v1/messages',
  turnOf: ({ tools = [], messages }) => ({
    tools: tools.map(({ name }) => name),
    outputs: blocksOf(messages).flatMap(outputOf),
    told: blocksOf(messages).flatMap(({ type, text = '' }) => (type === 'text' ? [text] : [])),
  }),
  answer(outgoing, { request, turn, number, step }) {
    const stop = { stop_reason: step ? 'tool_use' : 'end_turn', stop_sequence: null }
    const block = step ? callBlock(step, number) : closingBlock(turn)
    const message = messageOf(request, number)
    if (!request.stream) return sendJson(outgoing, { ...message, ...stop, content: [block.whole] })
    sendEvents(outgoing, [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block.empty },
      { type: 'content_block_delta', index: 0, delta: block.delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: stop, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ] as { type: string }[])
  },
}

function blocksOf(messages: Request['messages']): Block[] {
  return messages.flatMap(({ content }) => (typeof content === 'string' ? { type: 'text', text: content } : content))
}

function outputOf({ type, content = '' }: Block): string[] {
  if (type !== 'tool_result') return []
  return [typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n')]
}

function callBlock({ tool, input }: Step, number: number) {
  const call = { type: 'tool_use', id: `toolu_${number}`, name: tool }
  return {
    whole: { ...call, input },
    empty: { ...call, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  }
}

function closingBlock({ outputs }: Turn) {
  const text = `Done: ${outputs.at(-1) ?? 'nothing'}`
  return { whole: { type: 'text', text }, empty: { type: 'text', text: '' }, delta: { type: 'text_delta', text } }
}

function messageOf({ model }: Request, number: number) {
  const nothingYet = { content: [], stop_reason: null, stop_sequence: null }
  const usage = { input_tokens: 1, output_tokens: 1 }
  return { id: `msg_${number}`, type: 'message', role: 'assistant', model, ...nothingYet, usage }
}
