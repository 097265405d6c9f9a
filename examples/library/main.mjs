// @ts-check
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { createQuartermaster, isAppError } from 'quartermaster'
import { printer, printing } from './printing.mjs'

const quartermaster = await createQuartermaster({
  dir: fileURLToPath(new URL('.', import.meta.url)),
  capabilities: [printing],
})

try {
  // What an agent's file grants, and what the host program offers to this one run.
  /** @type {string[]} */
  const heard = []
  const context = quartermaster.contextFor('assistant', {
    thread: { id: 'thread-1' },
    callbacks: { progress: ({ tool, message }) => heard.push(`${tool}: ${message}`) },
  })

  // Synchronous, starts nothing: this is what an agent engine is handed.
  const { mcpServers, report } = quartermaster.resolve(context.agent.capabilities, context)
  const injections = quartermaster.resolveInjections('delegated', context)
  assert.deepEqual(Object.keys({ ...mcpServers, ...injections }), ['files', 'printing', 'handover'])
  assert.deepEqual(report, [
    { capability: 'files', tool: 'read_file', state: 'granted' },
    { capability: 'printing', tool: 'print', state: 'granted' },
  ])

  // An engine connects to each server; here the official MCP client does.
  const client = await connect(mcpServers.printing)
  assert.deepEqual(await toolNames(client), ['print'])
  assert.equal(await textOf(client, 'print', { text: 'Hello' }), 'Printed 5 characters.')
  assert.deepEqual(heard, ['print: printed'])

  // The printer goes off. The call that meets it says so, and the tools that need it are gone.
  printer.isOn = false
  assert.match(await textOf(client, 'print', { text: 'Hello' }), /^DEPENDENCY_UNAVAILABLE: /)
  await settled(() => quartermaster.dependency('printer').state === 'down')
  assert.deepEqual(await toolNames(client), [])
  assert.deepEqual(
    quartermaster.disabled().map(({ name, missing }) => [name, missing[0]?.reason]),
    [
      ['print', 'It is switched off.'],
      ['cancel_print', 'It is switched off.'],
    ],
  )

  // It is on again. The next call looks first, and every tool that needs it is back.
  printer.isOn = true
  const answer = await quartermaster.call({ agent: 'assistant', tool: 'print', input: { text: 'Hi' } })
  assert.deepEqual(answer.result.content, [{ type: 'text', text: 'Printed 2 characters.' }])
  assert.deepEqual(quartermaster.disabled(), [])
  assert.deepEqual(await toolNames(client), ['print'])

  // What was not granted does not exist for this agent.
  await assert.rejects(
    quartermaster.call({ agent: 'assistant', tool: 'cancel_print' }),
    error => isAppError(error) && error.code === 'TOOL_NOT_FOUND',
  )
  await client.close()
} finally {
  await quartermaster.stop()
}
console.log('All of it holds.')

/** @param {import('quartermaster').McpServerConfig | undefined} server */
async function connect(server) {
  assert(server?.type === 'sdk')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'library-example', version: '1.0.0' })
  const instance = /** @type {{ connect(transport: unknown): Promise<void> }} */ (server.instance)
  await Promise.all([instance.connect(theirs), client.connect(ours)])
  return client
}

/** @param {Client} client */
async function toolNames(client) {
  return (await client.listTools()).tools.map(tool => tool.name)
}

/**
 * @param {Client} client
 * @param {string} name
 * @param {Record<string, unknown>} input
 */
async function textOf(client, name, input) {
  const { content } = await client.callTool({ name, arguments: input })
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

/** @param {() => boolean} isDone */
async function settled(isDone) {
  while (!isDone()) await new Promise(resolve => setTimeout(resolve, 10))
}
