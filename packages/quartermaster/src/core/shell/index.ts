export {
  type ProgramLine,
  programIn,
  programLines,
  programName,
  scriptIndex,
  scriptLines,
  withShellVariables,
} from './command-line.ts'
export { firstOperand, type PackageRun, packageRunIn, packageRunsOf, WITH_VALUE } from './package-runs.ts'
export {
  findUnpinned,
  isFilledIn,
  type ProgramCall,
  programIdentity,
  type Unpinned,
  withTexts,
  withVersionsOf,
} from './package-versions.ts'
