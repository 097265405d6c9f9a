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
  secretsFile: z
    .string()
    .min(1)
    .optional()
    .describe('A JSON file of names and secret texts that only its owner can read. Default: secrets.json in the data folder.'),
  settings: SettingsInput.default({}).describe('See docs/reference/settings.md.'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>
