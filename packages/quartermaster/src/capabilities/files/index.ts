import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createWalls } from '../shared/walls/sandbox.ts'
import { FILES_WORDS, FilesSettings, toFilesConfig } from './config.ts'
import { createListFiles } from './list-files.ts'
import { createReadFile } from './read-file.ts'
import { createSearchFiles } from './search-files.ts'
import { createWriteFile, writtenFile } from './write-file.ts'

/** Files in an agent's folders and nothing outside. A hard link in a folder is that file, so it gives it to the agent. */
export default defineModule({
  needs: ['paths'],
  create({ paths }) {
    const walls = createWalls({ paths, words: FILES_WORDS })
    return defineCapability({
      key: 'files',
      title: 'Files',
      short: 'Read, list, search and write files in chosen folders.',
      config: FilesSettings,
      tools: [createReadFile(walls), createListFiles(walls), createSearchFiles(walls), createWriteFile(walls)],
      consentOperations: [
        {
          name: 'files.write',
          reason: 'Creates or replaces a file in one of the folders this agent was given.',
          weight: 'moderate',
          scope: writtenFile(walls),
        },
      ],
      resolve: (_context, settings) => ({ config: toFilesConfig(settings, paths.projectDir) }),
    })
  },
})
