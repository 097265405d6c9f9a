import { Agent, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import { generateText, isStepCount } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { AIMessage, type BaseMessage, createAgent, fakeModel, ToolMessage } from 'langchain'
import OpenAI from 'openai'
import type { Toolbox } from 'quartermaster'
import { aiTools } from 'quartermaster/ai'
import { langchainTools } from 'quartermaster/langchain'
import { agentTools, answerFunctionCalls, functionTools } from 'quartermaster/openai'
import { textOf } from '../clients/client.ts'
import { USAGE } from '../clients/drivers/ai-sdk.ts'
import type { Script, Step } from '../support/script.ts'
import { startScriptedResponses } from '../support/scripted-responses.ts'

/** Runs a scripted model in a framework's own loop, with the tools of a toolbox, and answers what the model said at the end. */
export type Runtime = (toolbox: Toolbox, script: Plan) => Promise<string>

/** A script that has all it needs at once. */
export type Plan = (turn: Parameters<Script>[0]) => Step | undefined

/** No model here needs more turns than this. */
const MOST_TURNS = 5

export const RUNTIMES: Readonly<Record<string, Runtime>> = {
  LangChain: inLangchain,
  'the AI SDK': inAiSdk,
  'the Responses API': inResponses,
  'the OpenAI Agents SDK': inAgentsSdk,
}

async function inLangchain(toolbox: Toolbox, plan: Plan): Promise<string> {
  const model = fakeModel()
  const turn = (messages: BaseMessage[]) => {
    const outputs = messages.filter(message => ToolMessage.isInstance(message)).map(({ content }) => textOf(content))
    const step = plan({ tools: [], outputs })
    if (!step) return new AIMessage(`Done: ${outputs.at(-1)}`)
    const { tool: name, input: args } = step
    return new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id: `call_${outputs.length}`, name, args }] })
  }
  for (let turns = 0; turns < MOST_TURNS; turns++) model.respond(turn)
  const agent = createAgent({ model, tools: await langchainTools(toolbox) })
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Go on.' }] })
  return textOf(messages.at(-1)?.content)
}

async function inAiSdk(toolbox: Toolbox, plan: Plan): Promise<string> {
  const model = new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const results = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []))
      const outputs = results.map(part => (part.type === 'tool-result' ? outputText(part.output) : ''))
      const step = plan({ tools: [], outputs })
      const answer = { usage: USAGE, warnings: [] }
      if (!step)
        return {
          ...answer,
          content: [{ type: 'text', text: `Done: ${outputs.at(-1)}` }],
          finishReason: { unified: 'stop', raw: 'stop' },
        }
      const { tool: toolName, input } = step
      const toolCallId = `call_${outputs.length}`
      return {
        ...answer,
        content: [{ type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) }],
        finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      }
    },
  })
  const tools = await aiTools(toolbox)
  const { text } = await generateText({ model, tools, stopWhen: isStepCount(MOST_TURNS), prompt: 'Go on.' })
  return text
}

function outputText(output: { readonly type: string; readonly value?: unknown }): string {
  return textOf(output.value)
}

/** What people write who call the API themselves. */
async function inResponses(toolbox: Toolbox, plan: Plan): Promise<string> {
  const model = await startScriptedResponses(plan)
  try {
    const client = new OpenAI({ apiKey: 'none', baseURL: model.url })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Go on.' }]
    for (;;) {
      const tools = await functionTools(toolbox)
      const response = await client.responses.create({ model: 'scripted', input, tools: [...tools] })
      const answers = await answerFunctionCalls(toolbox, response.output)
      if (answers.length === 0) return response.output_text
      input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]), ...answers)
    }
  } finally {
    await model.stop()
  }
}

async function inAgentsSdk(toolbox: Toolbox, plan: Plan): Promise<string> {
  setTracingDisabled(true)
  const model = await startScriptedResponses(plan)
  try {
    const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: model.url }) })
    const tools = await agentTools(toolbox)
    const agent = new Agent({ name: 'clerk', model: 'scripted', instructions: 'Call the tools.', tools })
    const { finalOutput } = await runner.run(agent, 'Go on.')
    return String(finalOutput)
  } finally {
    await model.stop()
  }
}
