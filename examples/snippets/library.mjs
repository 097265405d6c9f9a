// @ts-check
import { createQuartermaster, defineCapability, defineTool } from 'quartermaster'

const now = defineTool({
  name: 'now',
  short: 'Tells the time.',
  input: { type: 'object', properties: {}, additionalProperties: false },
  mutates: false,
  handler: () => new Date().toISOString(),
})
const clock = defineCapability({ key: 'clock', short: 'The time.', tools: [now] })

const quartermaster = await createQuartermaster({ capabilities: [clock] })
try {
  // An agent without a file. `contextFor('NAME')` gives the same for one that has a file.
  const agent = { name: 'guide', capabilities: { clock: {} } }
  const { mcpServers, report } = quartermaster.resolve(agent.capabilities, { agentDir: '.', workspaceDir: '.', agent })
  console.log(Object.keys(mcpServers), report)
} finally {
  await quartermaster.stop()
}
