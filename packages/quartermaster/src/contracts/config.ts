import { z } from 'zod'
import { DependencyOptions } from './dependency.ts'
import { SettingsInput } from './settings.ts'

/** `quartermaster.config.json`. */
export const ProjectConfig = z.strictObject({
  $schema: z.string().optional(),
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
  settings: SettingsInput.default({}).describe('See docs/reference/settings.md.'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>
