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
import { createPathQueue, createVaults } from './vault.ts'

/** Notes and tasks in a vault of Markdown as Obsidian keeps it: on disk, and through Obsidian while that runs. */
export default defineModule({
  needs: ['paths', 'secrets', 'registry'],
  create({ paths, secrets, registry }) {
    const obsidian = createObsidian({
      secrets,
      isOptedOut: () => registry.dependencies().some(({ name, state }) => name === OBSIDIAN && state === 'optedOut'),
    })
    const walls = createWalls({ paths, words: NOTES_WORDS })
    const vaults = createVaults({ walls, obsidian, queue: createPathQueue() })
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
      // Notes are there on disk while Obsidian is not, so no tool requires it.
      dependencies: [obsidian.dependency],
      consentOperations: [
        {
          name: 'notes.write',
          reason: 'Adds to notes of the vault this agent was given, or changes its list of tasks.',
          weight: 'moderate',
          // What was allowed in one vault says nothing about another, also where a link led to the one and leads to the other now.
          scope: ({ config }) => realOf((config as NotesConfig).vault),
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

/** One that is not there now keeps its name: nothing can be written to it, and it is looked at again before the run. */
function realOf(vault: string): Promise<string> {
  return realpath(vault).catch(() => vault)
}
