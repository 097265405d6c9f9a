import { join } from 'node:path'
import { defineCapability, defineDependency, defineTool } from 'quartermaster'
import { path } from 'quartermaster/probes'

// Gone at once when the file is: waiting for it to come back would hide that it went.
const lamp = defineDependency({
  name: 'lamp',
  probe: path({ path: join(import.meta.dirname, '..', 'lamp.txt') }),
  recoveringMs: 0,
  watchIntervalMs: 1_000,
})

const read = defineTool({
  name: 'read_letter',
  short: 'Reads a letter, which needs light.',
  input: { type: 'object', properties: {} },
  requires: ['lamp'],
  mutates: false,
  handler: () => 'Dear clerk, all is well.',
})

export default defineCapability({ key: 'lamp', short: 'What needs light.', dependencies: [lamp], tools: [read] })
