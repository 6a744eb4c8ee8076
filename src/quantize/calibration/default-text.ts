export const CALIBRATION_TEXT: string = "";
