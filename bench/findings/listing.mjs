// @ts-check
// Writes what a server lists, for `--listings`: node bench/findings/listing.mjs COMMAND [ARGUMENT …] > FOLDER/NAME.json
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) throw new Error('Say how the server is started: listing.mjs COMMAND [ARGUMENT …].')

const client = new Client({ name: 'listing', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
await client.connect(new StdioClientTransport({ command, args }))
try {
  const can = client.getServerCapabilities() ?? {}
  const listing = {
    instructions: client.getInstructions(),
    ...(can.tools && { tools: (await client.listTools()).tools }),
    ...(can.prompts && { prompts: (await client.listPrompts()).prompts }),
    ...(can.resources && { resources: (await client.listResources()).resources }),
    ...(can.resources && { resourceTemplates: (await client.listResourceTemplates()).resourceTemplates }),
  }
  console.log(JSON.stringify(listing, null, 2))
} finally {
  await client.close()
}
