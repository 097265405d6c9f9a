/** What is told of one that the configuration does not want to run. */
export const SWITCHED_OFF = 'It is switched off in the configuration: its entry says "enabled": false.'
