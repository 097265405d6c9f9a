import { z } from 'zod'
import { DependencyOptions } from './dependency.ts'
import { SettingsInput } from './settings.ts'
import { HttpUpstream, StdioUpstream } from './upstream.ts'

const asOthersWrite = {
  disabled: z.boolean().optional().describe('`true` says the same as `enabled: false`, as some clients write it.'),
}

/** An MCP server that is a program here, as people write it down. */
export const StdioEntry = StdioUpstream.extend(asOthersWrite)
/** An MCP server that is reached by streamable HTTP, as people write it down. */
export const HttpEntry = HttpUpstream.extend(asOthersWrite)
/** One entry of `mcpServers`, as people write it down. */
export const UpstreamEntry = z.union([StdioEntry, HttpEntry])
export type UpstreamEntry = z.infer<typeof UpstreamEntry>

/** A database in which effects of tools are looked for. */
export const ConnectionConfig = z.strictObject({
  sqlite: z.string().min(1).describe('The SQLite file; a relative path counts from the project folder.'),
})
export type ConnectionConfig = z.infer<typeof ConnectionConfig>

/** `quartermaster.config.json`. */
export const ProjectConfig = z.strictObject({
  $schema: z.string().optional(),
  mcpServers: z
    .record(z.string(), UpstreamEntry)
    .default({})
    .describe('MCP servers of others, by name; each is a capability that agents can be given. See docs/upstreams.md.'),
  dependencies: z
    .record(z.string(), DependencyOptions)
    .default({})
    .describe('What the owner says about dependencies, by name; `enabled: false` switches one off.'),
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Names other than loopback by which `up` may be reached: "box.lan", or "box.lan:8443" for that port alone.',
    ),
  connections: z
    .record(z.string().min(1), ConnectionConfig)
    .default({})
    .describe('Databases in which effects of tools are looked for, by name. They are read and never written.'),
  settings: SettingsInput.default({}).describe('See docs/reference/settings.md.'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>
