import { realpath } from 'node:fs/promises'
import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createWalls } from '../shared/walls/sandbox.ts'
import { NOTES_WORDS, type NotesConfig, NotesSettings, toNotesConfig } from './config.ts'
import { createNoteAppend } from './note-append.ts'
import { createNoteRead } from './note-read.ts'
import { createNoteSearch } from './note-search.ts'
import { createObsidian, OBSIDIAN } from './obsidian.ts'
import { createTaskComplete, createTaskUpdate } from './task-changes.ts'
import { createTaskCreate } from './task-create.ts'
import { createTaskList } from './task-list.ts'
import { createVaults } from './vault.ts'

/** Notes and tasks in a vault of Markdown as Obsidian keeps it: on disk, and through Obsidian while that runs. */
export default defineModule({
  needs: ['paths', 'secrets', 'registry'],
  create({ paths, secrets, registry }) {
    const obsidian = createObsidian({
      secrets,
      isOptedOut: () => registry.dependencies().some(({ name, state }) => name === OBSIDIAN && state === 'optedOut'),
    })
    const walls = createWalls({ paths, words: NOTES_WORDS })
    const vaults = createVaults(walls, obsidian)
    const now = () => new Date()
    return defineCapability({
      key: 'notes',
      title: 'Notes',
      short: 'Read, search and add to the notes of a vault, and keep its list of tasks.',
      config: NotesSettings,
      tools: [
        createNoteRead(vaults),
        createNoteSearch(vaults),
        createNoteAppend(vaults),
        createTaskCreate(vaults, now),
        createTaskUpdate(vaults, now),
        createTaskComplete(vaults, now),
        createTaskList(vaults),
      ],
      // No tool requires Obsidian: without it notes are read and written on disk.
      dependencies: [obsidian.dependency],
      consentOperations: [
        {
          name: 'notes.write',
          reason: 'Adds to notes of the vault this agent was given, or changes its list of tasks.',
          weight: 'moderate',
          // By the real path: a consent for one vault does not hold for another that a link leads to later.
          scope: ({ config }) => realOrConfigured((config as NotesConfig).vault),
        },
      ],
      resolve({ agent }, settings) {
        const config = toNotesConfig(settings, paths.projectDir)
        obsidian.use(agent.name, config)
        return { config }
      },
    })
  },
})

/** A missing vault keeps its configured name: nothing can be written to it, and the scope is read again before the run. */
function realOrConfigured(vault: string): Promise<string> {
  return realpath(vault).catch(() => vault)
}
