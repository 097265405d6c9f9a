import { defineTool } from '../../../core/catalogue/index.ts'
import { builtinUnit } from '../../../testing/builtin-unit.ts'
import {
  createHub,
  fakeService,
  type Hub,
  simpleCapability,
  simpleTool,
  type UnitContents,
  UP,
} from '../../../testing/hub.ts'
import gateway from '../index.ts'

const sendMail = defineTool({
  name: 'send_mail',
  short: 'Sends a mail to somebody.',
  whenToUse: 'When something has to be told. It does not read the inbox.',
  section: 'office',
  input: {
    type: 'object',
    properties: { to: { type: 'string', description: 'The recipient' } },
    required: ['to'],
    additionalProperties: false,
  },
  output: { type: 'object', properties: { sentTo: { type: 'string' } }, required: ['sentTo'] },
  examples: [{ query: 'tell Ada that I am late', input: { to: 'ada' } }],
  requires: ['smtp'],
  handler: ({ to }) => ({ sentTo: to as string }),
})

/** An office whose mail may fail, with agents that have all, some, one, and all without the gateway. */
export async function office(more: Record<string, UnitContents> = {}) {
  const smtp = fakeService('smtp', UP)
  const readReport = simpleTool('read_report', { short: 'Reads the report of a day.', section: 'office' })
  const weather = simpleTool('get_weather', { short: 'Weather for a place.', section: 'outdoors' })
  const hub = await createHub({
    units: {
      gateway: builtinUnit(gateway),
      office: {
        capabilities: [simpleCapability('office', [sendMail, readReport])],
        dependencies: [smtp.dependency],
      },
      outdoors: { capabilities: [simpleCapability('outdoors', [weather])] },
      ...more,
    },
    agents: {
      ada: { capabilities: { office: {}, outdoors: {} }, view: 'gateway' },
      bob: { capabilities: { outdoors: {} }, view: 'gateway' },
      pat: { capabilities: { office: { tools: ['read_report'] } }, view: 'gateway' },
      eve: { capabilities: { office: {}, outdoors: {} } },
    },
  })
  return { hub, smtp }
}

/** What a tool answered, as structure. */
export async function structured<T = Record<string, unknown>>(
  hub: Hub,
  agent: string,
  tool: string,
  input: unknown = {},
) {
  return (await hub.callAs(agent, tool, input)).result.structuredContent as T
}

export interface Found {
  tools: { name: string; state: string; reason?: string; score?: number; short: string }[]
  total: number
  sections?: { section: string; tools: number }[]
  nextCursor?: string
}

/** What find_tools answered. */
export const found = async (hub: Hub, agent: string, input: object) =>
  structured<Found>(hub, agent, 'find_tools', input)
export const names = ({ tools }: Found) => tools.map(tool => tool.name)

/** What a tool answered, as text. */
export async function textOf(hub: Hub, agent: string, tool: string, input: unknown = {}): Promise<string> {
  const { content } = (await hub.callAs(agent, tool, input)).result
  return content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n\n')
}
