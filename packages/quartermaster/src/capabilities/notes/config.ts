import { resolve } from 'node:path'
import { z } from 'zod'
import type { WallsConfig, WallWords } from '../shared/walls/requested-path.ts'
import { isSafeFolder, isSafeNote } from './note-name.ts'

// The key is sent to the server at this address, and the certificate of the plugin is self-signed.
const LOOPBACK = /^https?:\/\/(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?\/?$/

const RestSettings = z.strictObject({
  url: z
    .string()
    .regex(LOOPBACK, 'must be an http or https address of this machine, such as "https://127.0.0.1:27124"')
    .describe('Where the Local REST API plugin listens; on this machine only.'),
  secret: z.string().min(1).max(200).describe('The name of the secret that holds the API key of the plugin.'),
  certificate: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('A file with the certificate of the plugin (PEM); then no other is accepted.'),
})

/** The settings under `notes` in an agent's file. */
export const NotesSettings = z.strictObject({
  vault: z
    .string()
    .max(4096)
    // "~" is a shell's word; taken literally it would quietly be a folder of that name.
    .regex(/^[^~\p{Cc}][^\p{Cc}]*$/u, 'must name a folder without control characters; write "~" out as the home folder')
    .describe('The folder of notes; a relative one counts from the project folder.'),
  taskList: z
    .string()
    .max(500)
    .refine(isSafeNote, 'must be the path of a note in the vault, such as "Tasks.md"')
    .default('Tasks.md')
    .describe('The note whose checkboxes are the tasks.'),
  taskFolder: z
    .string()
    .max(500)
    .refine(isSafeFolder, 'must be a folder in the vault, such as "Tasks"; "." for the vault itself')
    .default('Tasks')
    .describe('The folder of the notes that tasks have of their own.'),
  rest: RestSettings.optional().describe('Reads and writes through Obsidian while it runs; on disk otherwise.'),
})
export type NotesSettings = z.infer<typeof NotesSettings>

export type RestConfig = z.infer<typeof RestSettings>

/** The configuration as the handlers get it. */
export interface NotesConfig extends WallsConfig {
  readonly vault: string
  /** The vault as its owner wrote it. Agents see no other name. */
  readonly label: string
  readonly taskList: string
  /** The folder before a task's title in paths and links: `Tasks/`, or empty. */
  readonly taskPrefix: string
  readonly rest?: RestConfig | undefined
}

/** Words for refusals. No setting allows notes to be written over control files. */
export const NOTES_WORDS: WallWords = { look: 'note_search', setting: 'vault' }

/** Prepares the settings for the handlers without touching the disk; a call reports a missing vault. */
export function toNotesConfig({ vault, taskList, taskFolder, rest }: NotesSettings, projectDir: string): NotesConfig {
  const path = resolve(projectDir, vault)
  const folder = taskFolder.replace(/\/$/, '')
  return {
    vault: path,
    label: vault,
    taskList: /\.md$/i.test(taskList) ? taskList : `${taskList}.md`,
    taskPrefix: folder === '.' ? '' : `${folder}/`,
    roots: [{ label: vault, path }],
    base: path,
    editProject: false,
    ...(rest && {
      rest: {
        ...rest,
        url: rest.url.replace(/\/$/, ''),
        ...(rest.certificate && { certificate: resolve(projectDir, rest.certificate) }),
      },
    }),
  }
}
