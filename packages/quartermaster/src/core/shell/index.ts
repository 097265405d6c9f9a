export {
  firstScript,
  type PlacedWord,
  type ProgramLine,
  programIn,
  programLines,
  programName,
  scriptIn,
  withShellVariables,
} from './command-line.ts'
export {
  findUnpinned,
  firstOperand,
  isFilledIn,
  type PackageRun,
  type ProgramCall,
  packageRunIn,
  packageRunsOf,
  programIdentity,
  type Unpinned,
  WITH_VALUE,
  withTexts,
  withVersionsOf,
} from './package-runs.ts'
export { type FilledWord, REFERENCE, type Script, scriptWords, shellCommands } from './script.ts'
