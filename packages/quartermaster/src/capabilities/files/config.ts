import { resolve } from 'node:path'
import { z } from 'zod'
import type { Root, WallsConfig, WallWords } from '../shared/walls/requested-path.ts'

const MEBIBYTE = 1024 * 1024

/** The settings under `files` in an agent's file. */
export const FilesSettings = z.strictObject({
  dirs: z
    .array(
      z
        .string()
        .max(4096)
        // "~" is a shell's word; taken literally it would quietly be a folder of that name.
        .regex(
          /^[^~\p{Cc}][^\p{Cc}]*$/u,
          'must name a folder without control characters; write "~" out as the home folder',
        ),
    )
    .min(1)
    .max(50)
    .describe('The folders this agent may use; relative ones count from the project folder.'),
  maxFileBytes: z
    .number()
    .int()
    .min(1)
    .max(256 * MEBIBYTE)
    .default(10 * MEBIBYTE)
    .describe(
      'The largest file that is read whole, searched or written, in bytes; larger ones are read by ranges of lines.',
    ),
  editProject: z
    .boolean()
    .default(false)
    .describe(
      'Lets the agent write the configuration, agents/, capabilities/ and knowledge/ of the project: ' +
        'such an agent can give itself anything.',
    ),
})
export type FilesSettings = z.infer<typeof FilesSettings>

/** The configuration as the handlers get it. */
export interface FilesConfig extends WallsConfig {
  readonly maxFileBytes: number
}

/** Words for refusals. */
export const FILES_WORDS: WallWords = {
  look: 'list_files',
  setting: 'dirs',
  unlock: 'or allow this agent all such changes with "editProject": true under "files" in its file',
}

/** Prepares the settings for the handlers without touching the disk; a call reports a missing folder. */
export function toFilesConfig(settings: FilesSettings, projectDir: string): FilesConfig {
  const byPath = new Map<string, Root>()
  for (const dir of settings.dirs) {
    const path = resolve(projectDir, dir)
    if (!byPath.has(path)) byPath.set(path, { label: withoutTrailingSlash(dir), path })
  }
  const { maxFileBytes, editProject } = settings
  return { roots: [...byPath.values()], maxFileBytes, editProject }
}

function withoutTrailingSlash(dir: string): string {
  return dir.length > 1 ? dir.replace(/[/\\]$/, '') : dir
}
